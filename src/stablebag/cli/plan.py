"""`stablebag plan`: which bags, and how many, meet a request."""

import json
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from stablebag._wording import as_given, count_bags, rounded_up, written_size
from stablebag.cli.printing import open_console, say
from stablebag.proving.plan import Plan, plan
from stablebag.resampling.schemes import SCHEMES


@click.command(name="plan")
@click.option("--n-samples", type=int, required=True, help="The number of training rows.")
@click.option("--epsilon", type=float, required=True, help="How far a prediction may move.")
@click.option("--delta", type=float, required=True, help="The share of rows that may move a prediction further.")
@click.option("--max-bags", type=int, default=10_000, show_default=True, help="The largest number of bags.")
@click.option("--max-bag-size", type=int, help="The largest bag.  [default: all rows but one]")
@click.option(
    "--range-length", type=float, default=1.0, show_default=True, help="The length of the predictions' range."
)
@click.option("--scheme", type=click.Choice(sorted(SCHEMES)), help="Plan for this scheme only.  [default: each]")
@click.option("--churn", type=float, help="Plan for a retraining: this share of the rows, such as 0.01, is replaced at "
              "random. Delta is then the chance that a prediction changes further.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print numbers for machines.")
def plan_command(
    n_samples: int,
    epsilon: float,
    delta: float,
    max_bags: int,
    max_bag_size: int | None,
    range_length: float,
    scheme: str | None,
    churn: float | None,
    as_json: bool,
) -> None:
    """Find the largest bags, and how many of them, that certify (epsilon, delta)-stability.

    Epsilon is in the units of the prediction, whose range has the length given by --range-length.

    \b
    Example:
      stablebag plan --n-samples 10000 --epsilon 0.05 --delta 0.05
      stablebag plan --n-samples 10000 --epsilon 0.1 --delta 0.1 --churn 0.01
    """
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
    fewer = " Fewer bags keep the promise if they are smaller." if len(best.options) > 1 else ""
    say(
        console,
        f"Use {best.certificate.scheme}, with {count_bags(best.n_bags)}: bags nearly as large as "
        f"{max_bags:,} allow, because larger bags cost less accuracy.{fewer}",
    )
    console.print(_frontier(best, n_samples))
    if not scheme:
        console.print(_schemes(plans, refusals))


def _frontier(found: Plan, n_samples: int) -> Table:
    """The ways to keep the promise with this scheme: fewer bags must be smaller."""
    share = f"a share {as_given(found.delta)} of {n_samples:,} rows"
    table = Table(
        title=f"On average over draws of the bags, at most {share} move a prediction by more than "
        f"{as_given(found.epsilon)}: bags for which this is proved, by their number"
    )
    for name in ("bags", "rows in a bag", "proved", "of it, the price of finitely many bags"):
        table.add_column(name, justify="right")
    for option in found.options:
        size = written_size(option.bag_size)
        table.add_row(f"{option.n_bags:,}", size, rounded_up(option.epsilon), rounded_up(option.price))
    return table


def _schemes(plans: dict[str, Plan], refusals: dict[str, str]) -> Table:
    table = Table(title="The same promise, scheme by scheme")
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
