"""`stablebag plan`: the bags, and how many of them, that give a guarantee."""

import json
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from stablebag._wording import count_bags, rounded_up, written_size
from stablebag.cli.options import BAGS, DATA, OUTPUT, Command, option
from stablebag.cli.printing import new_table, open_console, say
from stablebag.proving.certificate import expected_rows
from stablebag.proving.error_bounds import ErrorPlan
from stablebag.proving.plan import Plan, plan
from stablebag.resampling.schemes import SCHEMES

_OF_ERROR = ("n_samples", "width", "error_width", "confidence_level", "lipschitz", "upper", "range_length")


@click.command(name="plan", cls=Command)
@option("--n-samples", metavar="N", group=DATA, type=int, required=True, help="Number of training rows.")
@option("--range-length", metavar="LENGTH", group=DATA, type=float, default=1.0, default_text="1",
        help="Largest minus smallest possible prediction.")  # fmt: skip
@option("--churn", metavar="SHARE", group=DATA, type=float,
        help="Plan for a retraining: share of rows replaced.")  # fmt: skip
@option("--epsilon", metavar="CHANGE", group=BAGS, type=float, help="Largest change by one row, with --delta.")
@option("--delta", metavar="SHARE", group=BAGS, type=float, help="Share of the rows that may exceed --epsilon.")
@option("--error-width", metavar="WIDTH", group=BAGS, type=float, help="Or: width of an interval for the error.")
@option("--scheme", metavar="NAME", group=BAGS, type=click.Choice(sorted(SCHEMES)), default_text="each",
        help="Plan for one scheme only.")  # fmt: skip
@option("--max-bags", metavar="N", group=BAGS, type=int, default=10_000, default_text="10000", help="Most bags.")
@option("--max-bag-size", metavar="N", group=BAGS, type=int, default_text="all rows but one", help="Largest bag.")
@option("--confidence", metavar="LEVEL", type=float, default_text="0.95", help="Confidence level of --error-width.")
@option("--lipschitz", metavar="L", type=float, default_text="1",
        help="Change of the loss per change of the prediction.")  # fmt: skip
@option("--upper", metavar="LOSS", type=float, default_text="1", help="Largest possible loss.")
@option("--json", "as_json", group=OUTPUT, is_flag=True, help="Print JSON instead of tables.")
def plan_command(
    n_samples: int,
    epsilon: float | None,
    delta: float | None,
    error_width: float | None,
    confidence: float | None,
    lipschitz: float | None,
    upper: float | None,
    max_bags: int,
    max_bag_size: int | None,
    range_length: float,
    scheme: str | None,
    churn: float | None,
    as_json: bool,
) -> None:
    """Find bags for a guarantee that you name.

    The guarantee: at any test point, at most a share --delta of the rows changes the prediction by more than --epsilon
    when left out. Or, with --error-width: with probability --confidence, an interval of this width contains the error
    of the fitted model on new rows, for a loss from 0 to --upper.

    \b
    Examples:
      stablebag plan --n-samples 10000 --epsilon 0.05 --delta 0.05
      stablebag plan --n-samples 10000 --epsilon 0.1 --delta 0.1 --churn 0.01
      stablebag plan --n-samples 10000 --error-width 0.2
    """
    of_error = {"confidence_level": confidence, "lipschitz": lipschitz, "upper": upper}
    if error_width is not None:
        stray = {"--epsilon": epsilon, "--delta": delta, "--churn": churn}
        _refuse_stray(stray, "is about stability, and --error-width about the error. Use one of them.")
        if scheme not in (None, "subbagging"):
            raise click.UsageError(f"--error-width is planned for subbagging only, got --scheme {scheme}.")
        chosen = {name: value for name, value in of_error.items() if value is not None}
        of_width = plan(n_samples, max_bags=max_bags, max_bag_size=max_bag_size, range_length=range_length,
                        error_width=error_width, **chosen)  # fmt: skip
        if as_json:
            click.echo(json.dumps(_numbers_of_error(of_width), indent=1))
        else:
            say(open_console(), str(of_width))
        return
    stray = {"--confidence": confidence, "--lipschitz": lipschitz, "--upper": upper}
    _refuse_stray(stray, "needs --error-width, which it describes.")
    if epsilon is None or delta is None:
        missing = " and ".join(name for name, value in (("--epsilon", epsilon), ("--delta", delta)) if value is None)
        raise click.UsageError(f"Give {missing}, for a guarantee about leaving out rows, or --error-width.")
    if churn is not None:
        found = plan(n_samples, epsilon, delta, scheme or "subbagging", max_bags=max_bags, max_bag_size=max_bag_size,
                     range_length=range_length, churn=churn)  # fmt: skip
        proved = {"scheme": str(found.certificate.law), "n_bags": found.n_bags, **found.certificate.to_dict()}
        if as_json:
            click.echo(json.dumps(proved, indent=1))
        else:
            say(open_console(), str(found))
        return
    plans, refusals = {}, {}
    for name in [scheme] if scheme else sorted(SCHEMES):
        try:
            limits = {"max_bags": max_bags, "max_bag_size": max_bag_size, "range_length": range_length}
            plans[name] = plan(n_samples, epsilon, delta, name, **limits)  # type: ignore[arg-type]
        except ValueError as error:
            refusals[name] = str(error)
    if not plans:
        raise ValueError(list(refusals.values())[-1])
    if as_json:
        click.echo(json.dumps({name: _numbers(found) for name, found in plans.items()}, indent=1))
        return
    console = open_console()
    best = plans.get("subbagging") or next(iter(plans.values()))
    rows = expected_rows(delta, n_samples)
    say(console, f"Use {best.certificate.scheme}, with {count_bags(best.n_bags)}.")
    say(
        console, f"At any test point, {rows} the prediction by more than {rounded_up(best.certificate.epsilon(delta))}."
    )
    if len(best.options) > 1:
        say(console, "\nLarger bags usually predict better, and need more bags for the same guarantee:")
        console.print(_options(best))
    if not scheme:
        say(console, "\nThe same guarantee with each scheme:")
        console.print(_schemes(plans, refusals))


def _refuse_stray(given: dict[str, Any], why: str) -> None:
    """Raise a usage error if one of these options was given."""
    for name, value in given.items():
        if value is not None:
            raise click.UsageError(f"{name} {why}")


def _options(found: Plan) -> Table:
    """The ways to get the guarantee with this scheme."""
    table = new_table("")
    for name in ("bags", "rows in a bag", "guaranteed change", "of which due to finite bags"):
        table.add_column(name, justify="right")
    for each in found.options:
        size = written_size(each.bag_size)
        table.add_row(f"{each.n_bags:,}", size, rounded_up(each.epsilon), rounded_up(each.price))
    return table


def _schemes(plans: dict[str, Plan], refusals: dict[str, str]) -> Table:
    table = new_table("")
    for name in ("scheme", "bags", "proved by"):
        table.add_column(name, overflow="fold")
    for found in plans.values():
        proof = found.certificate.best(found.delta).proof
        table.add_row(str(found.certificate.scheme), count_bags(found.n_bags), proof.words)
    for name, refusal in refusals.items():
        table.add_row(name, "none", refusal)
    return table


def _numbers(found: Plan) -> dict[str, Any]:
    return {
        "scheme": str(found.certificate.scheme),
        "bag_size": found.certificate.scheme.bag_size,
        "n_bags": found.n_bags,
        "epsilon": found.certificate.epsilon(found.delta),
        "proof": found.certificate.best(found.delta).proof.words,
        "options": [asdict(option) for option in found.options],
    }


def _numbers_of_error(found: ErrorPlan) -> dict[str, Any]:
    return {
        "scheme": str(found.scheme.resolve(found.n_samples)),
        "bag_size": found.scheme.bag_size,
        "n_bags": found.n_bags,
        **{name: getattr(found, name) for name in _OF_ERROR},
        "enough_rows": [{"share_in_bag": share, "n_samples": n} for share, n in found.rows.items()],
    }
