"""stablebag, for type checkers: the same names as in __init__.py."""

from stablebag.deciding.inflated_argmax import inflated_argmax as inflated_argmax
from stablebag.deciding.inflated_argmax import margin_argmax as margin_argmax
from stablebag.deciding.intervals import Intervals as Intervals
from stablebag.deciding.intervals import jackknife_intervals_refit as jackknife_intervals_refit
from stablebag.deciding.intervals import predict_interval as predict_interval
from stablebag.deciding.left_out_rankings import LeftOutRankings as LeftOutRankings
from stablebag.deciding.left_out_selections import LeftOutSelections as LeftOutSelections
from stablebag.deciding.rank_sets import RankSets as RankSets
from stablebag.deciding.ranking import StableRanking as StableRanking
from stablebag.deciding.ranking import stable_ranking as stable_ranking
from stablebag.deciding.search_winner import search_winner as search_winner
from stablebag.deciding.selection import Selection as Selection
from stablebag.deciding.selection import select_model as select_model
from stablebag.deciding.top_k import top_k_sets as top_k_sets
from stablebag.learning.classifier import BaggedClassifier as BaggedClassifier
from stablebag.learning.forgetting import forget as forget
from stablebag.learning.forgetting import learn as learn
from stablebag.learning.functions import FunctionClassifier as FunctionClassifier
from stablebag.learning.functions import FunctionRegressor as FunctionRegressor
from stablebag.learning.predictions import BagPredictions as BagPredictions
from stablebag.learning.progress import on_progress as on_progress
from stablebag.learning.ranges import FixedRange as FixedRange
from stablebag.learning.ranges import FunctionRange as FunctionRange
from stablebag.learning.ranges import ObservedRange as ObservedRange
from stablebag.learning.ranges import PredictionRange as PredictionRange
from stablebag.learning.ranges import TrimmedRange as TrimmedRange
from stablebag.learning.regressor import BaggedRegressor as BaggedRegressor
from stablebag.measuring.black_box import StabilityTest as StabilityTest
from stablebag.measuring.black_box import stability_test as stability_test
from stablebag.measuring.errors import LeaveOneOutError as LeaveOneOutError
from stablebag.measuring.errors import leave_one_out_error as leave_one_out_error
from stablebag.measuring.leave_one_out import leave_one_out as leave_one_out
from stablebag.measuring.leave_one_out import stream_leave_one_out as stream_leave_one_out
from stablebag.measuring.perturbations import Perturbations as Perturbations
from stablebag.measuring.refits import leave_one_out_refit as leave_one_out_refit
from stablebag.measuring.refits import replace_one_refit as replace_one_refit
from stablebag.proving.bounds.impossible import unstable_epsilon as unstable_epsilon
from stablebag.proving.certificate import Certificate as Certificate
from stablebag.proving.certify import certify as certify
from stablebag.proving.certify import certify_reused as certify_reused
from stablebag.proving.plan import Plan as Plan
from stablebag.proving.plan import plan as plan
from stablebag.proving.points import PointCertificate as PointCertificate
from stablebag.proving.reused_bags import ReusedBagsCertificate as ReusedBagsCertificate
from stablebag.proving.vector import VectorCertificate as VectorCertificate
from stablebag.resampling.bags import Bags as Bags
from stablebag.resampling.bernoulli import BernoulliSubbagging as BernoulliSubbagging
from stablebag.resampling.classical import ClassicalBagging as ClassicalBagging
from stablebag.resampling.clusters import ClusterSubbagging as ClusterSubbagging
from stablebag.resampling.poissonized import PoissonizedBagging as PoissonizedBagging
from stablebag.resampling.random_bags import RandomBags as RandomBags
from stablebag.resampling.random_bags import random_n_bags as random_n_bags
from stablebag.resampling.row_ids import RowIds as RowIds
from stablebag.resampling.scheme import ResamplingScheme as ResamplingScheme
from stablebag.resampling.stratified import StratifiedSubbagging as StratifiedSubbagging
from stablebag.resampling.subbagging import Subbagging as Subbagging
from stablebag.resampling.unequal import UnequalScheme as UnequalScheme
from stablebag.showing.displays.curve import StabilityCurveDisplay as StabilityCurveDisplay
from stablebag.showing.displays.histogram import PerturbationDisplay as PerturbationDisplay
from stablebag.showing.displays.intervals import IntervalDisplay as IntervalDisplay
from stablebag.showing.displays.phase_diagram import PhaseDiagramDisplay as PhaseDiagramDisplay

HOMES: dict[str, str]
__all__: list[str]
__version__: str
