"""`stablebag certify`: what is proved about bagging any learner, before any data are seen."""

import json
import math

import click
from rich.table import Table

from stablebag._checks import whole_rows
from stablebag._wording import as_given, rounded_up
from stablebag.cli.options import scheme_of, scheme_options
from stablebag.cli.printing import finite, open_console, say
from stablebag.proving.certificate import Certificate
from stablebag.proving.coupling import NAMES

_SHARES = (0.01, 0.05, 0.1, 0.25)


@click.command()
@scheme_options
@click.option("--n-samples", type=int, required=True, help="The number of training rows.")
@click.option("--n-bags", default="inf", show_default=True, help="The number of bags; inf is derandomized bagging.")
@click.option(
    "--delta", type=float, default=0.05, show_default=True, help="The share of rows that may move a prediction further."
)
@click.option(
    "--range-length", type=float, default=1.0, show_default=True, help="The length of the range of predictions."
)
@click.option(
    "--coupling",
    type=click.Choice(NAMES),
    default="matched",
    show_default=True,
    help="What is assumed about the bags with and without a row; those of this library are matched.",
)
@click.option("--json", "as_json", is_flag=True, help="Print numbers for machines instead of sentences.")
def certify(
    scheme: str,
    bag_size: str | None,
    n_samples: int,
    n_bags: str,
    delta: float,
    range_length: float,
    coupling: str,
    as_json: bool,
) -> None:
    """State what is proved about bagging any learner, before any data are seen.

    \b
    Example:
      stablebag certify --n-samples 500 --n-bags 10000 --delta 0.05
    """
    law, number = scheme_of(scheme, bag_size), _number_of_bags(n_bags)
    certificate = Certificate(law, n_samples, number, range_length=range_length, coupling=coupling)
    shares = sorted({*_SHARES, delta})
    if as_json:
        numbers = {str(share): certificate.epsilon(share) for share in shares}
        paper = {str(share): finite(certificate.epsilon(share, "paper")) for share in shares}
        click.echo(json.dumps({**certificate.to_dict(), "epsilon": numbers, "epsilon_of_the_paper": paper}, indent=1))
        return
    console = open_console()
    say(console, certificate.explain(delta))
    table = Table(title="epsilon, for a share delta of the rows")
    for name in ("delta", "rows", "epsilon", "the paper's"):
        table.add_column(name, justify="right")
    for share in shares:
        values = (certificate.epsilon(share), certificate.epsilon(share, "paper"))
        rows = whole_rows(share, n_samples)
        table.add_row(as_given(share), f"{rows:,}", *(rounded_up(value) for value in values))
    console.print(table)


def _number_of_bags(text: str) -> int | float:
    if text in ("inf", "all"):
        return math.inf
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--n-bags is a whole number, or inf. Got {text!r}.") from None
