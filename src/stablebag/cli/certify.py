"""`stablebag certify`: what bagging guarantees for any model, before seeing any data."""

import json
import math

import click

from stablebag._checks import whole_rows
from stablebag._wording import as_given, rounded_up
from stablebag.cli.options import BAGS, DATA, OUTPUT, Command, option, scheme_of, scheme_options
from stablebag.cli.printing import finite, new_table, open_console, say
from stablebag.proving.certificate import Certificate
from stablebag.proving.coupling import NAMES

_SHARES = (0.01, 0.05, 0.1, 0.25)


@click.command(cls=Command)
@option("--n-samples", metavar="N", group=DATA, type=int, required=True, help="Number of training rows.")
@option("--range-length", metavar="LENGTH", group=DATA, type=float, default=1.0, default_text="1",
        help="Largest minus smallest possible prediction.")  # fmt: skip
@scheme_options
@option("--n-bags", metavar="N", group=BAGS, default="inf", default_text="inf", help="Number of bags, or inf for all.")
@option("--delta", metavar="SHARE", group=OUTPUT, type=float, default=0.05, default_text="0.05",
        help="Share of the rows that may exceed the bound.")  # fmt: skip
@option("--json", "as_json", group=OUTPUT, is_flag=True, help="Print JSON instead of sentences.")
@option("--coupling", metavar="NAME", type=click.Choice(NAMES), default="matched", default_text="matched",
        help="Or any, independent: see the docs.")  # fmt: skip
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
    """Print what bagging guarantees for any model, before seeing data.

    \b
    Example:
      stablebag certify --n-samples 500 --n-bags 1000 --delta 0.05
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
    say(console, "\nOther shares of the rows (delta), with the change that they can exceed (epsilon):")
    table = new_table("")
    for name in ("delta", "rows", "epsilon", "by the paper"):
        table.add_column(name, justify="right")
    for share in shares:
        values = (certificate.epsilon(share), certificate.epsilon(share, "paper"))
        table.add_row(as_given(share), f"{whole_rows(share, n_samples):,}", *map(rounded_up, values))
    console.print(table)


def _number_of_bags(text: str) -> int | float:
    if text in ("inf", "all"):
        return math.inf
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--n-bags must be a whole number or inf, got {text!r}.") from None
