"""The general solver: one fit per bag, whatever the learner."""

from dataclasses import replace
from typing import Any

from scipy import sparse

from stablebag.learning.job import FitJob
from stablebag.learning.solvers.solver import Solver


class General(Solver):
    """One fit per bag: the fallback for learners about which nothing is known."""

    @classmethod
    def covers(cls, learner: Any) -> bool:
        return True

    def prepared(self, job: FitJob) -> FitJob:
        """Convert sparse formats in which taking rows is slow."""
        if sparse.issparse(job.X) and job.X.format != "csr":
            return replace(job, X=job.X.tocsr())
        return job
