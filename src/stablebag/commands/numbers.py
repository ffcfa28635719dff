"""A study as a machine reads it: everything that is printed, and what is needed to make it again."""

import math
from typing import Any

from stablebag.commands.printing import finite
from stablebag.measuring.suspects import Suspects
from stablebag.resampling.row_ids import plain
from stablebag.showing.colophon import Colophon
from stablebag.showing.decisions import Decisions
from stablebag.showing.scores import Ranking
from stablebag.showing.study import Study
from stablebag.showing.verdict import Verdict


def numbers(result: Study, colophon: Colophon, delta: float = 0.05) -> dict[str, Any]:
    """Return a study as a dictionary that JSON takes."""
    return {
        "verdict": _verdict(result.verdict()),
        **({} if result.decisions is None else {"decisions": _decisions(result.decisions)}),
        **colophon.to_dict(),
        "task": result.task,
        "delta": delta,
        "changes": _changes(result, delta),
        "proved": [
            {name: finite(value) if isinstance(value, float) else value for name, value in line._asdict().items()}
            for line in result.proofs(delta)
        ],
        "proved_of_these_bags": result.proved.explain(delta),
        "proved_of_bags_drawn_anew": None if result.anew is None else result.anew.explain(delta),
        "ranking": None if result.ranking is None else _ranking(result.ranking),
        "held_out": {
            score.name: {
                "base": finite(score.base),
                "bagged": finite(score.bagged),
                "constant": finite(score.constant),
                "lower_is_better": score.lower_is_better,
            }
            for score in result.scores
        },
        "suspects": None if result.suspects is None else _suspects(result.suspects),
        "most_influential": [
            {result.noun.singular: written(row), "root_mean_square_effect": float(effect)}
            for row, effect in zip(*result.most_influential(15), strict=True)
        ],
        "leave_one_out_error": None
        if result.error is None
        else {"value": result.error.value, "standard_error": finite(result.error.standard_error)},
        "coverage": result.coverage,
    }


def _ranking(found: Ranking) -> dict[str, Any]:
    return {
        found.name: finite(found.value),
        "by_chance": found.by_chance,
        "p_value": found.p_value,
        "better_than_chance": found.is_real,
        "n_held_out": found.n,
        "n_groups": found.n_groups,
        "too_few": found.are_few,
    }


def _changes(result: Study, delta: float) -> dict[str, Any]:
    compared = result.compared
    about: dict[str, Any] = {
        "n_refits_of_the_base_model": 0 if compared.base is None else len(compared.base.rows),
        "n_refits_of_the_bagged_model": compared.n_refitted,
        "n_points": compared.n_points,
        "bagged_model": compared.how,
        "bagging_noise": compared.noise,
    }
    if compared.base is not None:
        ratio = compared.ratio()
        about["times_smaller"] = {
            "value": finite(ratio.value),
            "lowest_without_any_one_row_or_point": finite(ratio.low),
            "highest_without_any_one_row_or_point": finite(ratio.high),
            "with_infinitely_many_bags": finite(compared.limit_ratio()),
        }
    lines = result.comparison(delta)
    about["lines"] = {line.what: {"base": finite(line.base), "bagged": finite(line.bagged)} for line in lines}
    return about


def written(name: Any) -> Any:
    """Return a name that JSON takes."""
    name = plain(name)
    return name if isinstance(name, int | float | str) else str(name)


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "case": verdict.case,
        "headline": verdict.headline,
        "advice": verdict.advice,
        "reasons": list(verdict.reasons),
        "remarks": [_verdict(remark) for remark in verdict.remarks],
    }


def _suspects(found: Suspects) -> dict[str, Any]:
    of_classes = math.isnan(found.usual)
    value, usual = ("probability_of_its_class", "usual_in_its_class") if of_classes else ("residual", "usual_residual")
    return {
        "alpha": found.alpha,
        "noise": found.noise,
        "moving_predictions": [
            {
                found.noun.singular: written(one.name),
                "root_mean_square_effect": one.change,
                "noise": one.noise,
                "p_value": one.p_value,
            }
            for one in found.moving
        ],
        "worth_a_look": [
            {
                found.noun.singular: written(one.name),
                value: one.value,
                usual: one.usual,
                "distance": finite(one.distance),
            }
            for one in found.farthest
        ],
        "n_looked_at": found.n_looked_at,
    }


def _decisions(decisions: Decisions) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "conclusion": decisions.conclusion(),
        "n_held_out": len(decisions),
        "n_refits": len(decisions.refitted),
        "n_flipped_by_refits": decisions.n_flipped,
        "n_suggested_by_bags": decisions.n_suggested,
        "suggested_flips": {
            "total": len(decisions.suggested),
            "checked": decisions.n_checked,
            "confirmed": decisions.n_confirmed,
        },
        "most_flips": [
            {decisions.noun.singular: written(name), "decisions": int(count)}
            for name, count in zip(*decisions.most_flips(15), strict=True)
        ],
    }
    if decisions.base is not None and decisions.same is not None:
        numbers["by_the_same_rows"] = {
            "n_rows": decisions.n_same,
            "base": int((decisions.base > 0).sum()),
            "bagged": int((decisions.same > 0).sum()),
        }
    return numbers
