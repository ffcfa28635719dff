"""`stablebag reproduce`: the experiments and figures of the paper, from scratch."""

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from stablebag._writing import refuse_unwritable_folder
from stablebag.cli.options import BAGS, DATA, OUTPUT, Command, option, run_options
from stablebag.cli.printing import open_console, progress, say

_QUICK_BAGS = 500
_PAPER_BAGS = 10_000
_MOST_BAGS = 10_000_000  # these take days, and fit into memory


@click.command(cls=Command)
@option("--setting", "settings", metavar="N", type=click.IntRange(1, 4), multiple=True, group=DATA,
        default_text="all four", help="One setting, 1 to 4. Can be repeated.")  # fmt: skip
@option("--variant", metavar="NAME", type=click.Choice(["script", "text"]), default="script", group=DATA,
        default_text="script", help="Data of the authors' script, or of the text.")  # fmt: skip
@option("--n-bags", metavar="N", type=click.IntRange(2, _MOST_BAGS), group=BAGS, default_text=f"{_PAPER_BAGS}",
        help="Number of bags.")  # fmt: skip
@option("--quick", is_flag=True, group=BAGS, help=f"Use {_QUICK_BAGS} bags: about a minute on two cores.")
@option("--literal-rows", metavar="N", type=click.IntRange(0), default=0, default_text="0",
        help="Also refit with new bags, for N rows (slow).")  # fmt: skip
@option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("reproduction"), metavar="FOLDER",
        group=OUTPUT, default_text="reproduction", help="Folder for figures, numbers and cache.")  # fmt: skip
@run_options
def reproduce(
    settings: tuple[int, ...],
    variant: str,
    n_bags: int | None,
    quick: bool,
    literal_rows: int,
    output: Path,
    jobs: int,
    seed: int,
) -> None:
    """Repeat the experiments of the paper and check its claims.

    Each of the four settings refits a model without each row, and compares it with its bagged version. The command
    writes Figures 1 to 3 as PNG, SVG and PDF, and all numbers as JSON. It keeps finished work in OUTPUT/cache, so an
    interrupted run continues where it stopped.

    \b
    Example:
      stablebag reproduce --quick
    """
    from importlib.util import find_spec

    from stablebag.paper import experiments, figures
    from stablebag.paper.experiments import write_numbers
    from stablebag.paper.settings import SETTINGS

    if quick and n_bags is not None:
        raise click.UsageError("--quick and --n-bags both set the number of bags. Use one of them.")
    if find_spec("matplotlib") is None:
        raise ImportError("The figures need matplotlib: pip install 'stablebag[cli,plot]'.")
    number = n_bags or (_QUICK_BAGS if quick else _PAPER_BAGS)
    chosen = sorted(set(settings)) or [1, 2, 3, 4]
    refuse_unwritable_folder(output)
    console = open_console()
    options: dict[str, Any] = {"variant": variant, "n_bags": number, "seed": seed, "n_jobs": jobs}
    options |= {"literal_rows": literal_rows, "cache": output / "cache"}
    for k in chosen:
        experiments.refuse_too_few_bags(SETTINGS[k], number, variant, seed)
    results = []
    try:
        for k in chosen:
            with progress(f"Setting {k}: {SETTINGS[k].title}"):
                results.append(experiments.run(k, **options))
    except KeyboardInterrupt as interrupt:
        where = f"Finished work is kept in {output / 'cache'}; the same command continues from there."
        raise type(interrupt)(where) from None
    write_numbers(results, output / "numbers.json")
    made = []
    if results[0].setting.number == 1:
        made += figures.save(figures.figure_1(results[0]), output, "figure1")
    made += figures.save(figures.figure_2(), output, "figure2")
    made += figures.save(figures.figure_3(results), output, "figure3")
    claims = [claim for result in results for claim in result.claims()]
    console.print(_table_of_claims(claims, variant, number))
    console.print(
        "Theorem 8 allows a share c / (4 epsilon^2) of the rows to change a prediction by more than epsilon. The "
        "factor is the largest ratio of the measured share to this bound, over all epsilon. Above 1, the theorem is "
        "violated."
    )
    kept = sum(claim.holds for claim in claims)
    say(console, f"{kept} of {len(claims)} claims agree with the paper.")
    say(console, f"Figures and numbers: {output} ({len(made)} figures, numbers.json)")


def _table_of_claims(claims: list[Any], variant: str, n_bags: int) -> Table:
    table = Table(title=f"The paper's claims (data of the {variant}, {n_bags:,} bags)")
    for column in ("Setting", "The paper says", "Found at its test point", "Verdict", "Over ten test points"):
        table.add_column(column, justify="center" if column in ("Setting", "Verdict") else "left")
    for claim in claims:
        verdict = "[green]as the paper[/]" if claim.holds else "[red]not here[/]"
        table.add_row(str(claim.setting), claim.says, claim.found, verdict, claim.over_points)
    return table
