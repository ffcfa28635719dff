"""`stablebag plan`: which bags, and how many, meet a request."""

import click
from rich.console import Console
from rich.table import Table

from stablebag._wording import count_bags
from stablebag.proving.plan import plan
from stablebag.resampling.schemes import SCHEMES


@click.command(name="plan")
@click.option("--n-samples", type=int, required=True, help="The number of training rows.")
@click.option("--epsilon", type=float, required=True, help="How far a prediction may move, in units of its range.")
@click.option("--delta", type=float, required=True, help="The share of rows that may move a prediction further.")
@click.option("--max-bags", type=int, default=10_000, show_default=True, help="The largest number of bags.")
@click.option("--scheme", type=click.Choice(sorted(SCHEMES)), help="Plan for this scheme only.  [default: each]")
def plan_command(n_samples: int, epsilon: float, delta: float, max_bags: int, scheme: str | None) -> None:
    """Find the largest bags, and how many of them, that certify (epsilon, delta)-stability.

    \b
    Example:
      stablebag plan --n-samples 10000 --epsilon 0.05 --delta 0.05
    """
    table = Table(
        title=f"At most a share {delta:g} of {n_samples:,} rows move a prediction by more than {epsilon:g} of its range"
    )
    for name in ("scheme", "bags", "proved by"):
        table.add_column(name, overflow="fold")
    found, refusal = 0, ""
    for name in [scheme] if scheme else sorted(SCHEMES):
        try:
            best = plan(n_samples, epsilon, delta, name, max_bags=max_bags)
        except ValueError as error:
            refusal = str(error)
            table.add_row(name, "none", refusal)
            continue
        found += 1
        proof = best.certificate.best(delta).proof
        table.add_row(str(best.certificate.scheme), count_bags(best.n_bags), proof.words)
    if not found:
        raise ValueError(refusal)
    Console().print(table)
