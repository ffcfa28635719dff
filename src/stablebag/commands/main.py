"""The command `stablebag`: a group of commands that say what is wrong in one sentence."""

import traceback
from typing import Any

try:
    import click
    import rich  # noqa: F401 (the commands use it)
except ImportError as error:  # pragma: no cover
    raise SystemExit("The command line needs click and rich: pip install 'stablebag[cli]'.") from error

from stablebag import __version__
from stablebag.commands.certify import certify
from stablebag.commands.demo import demo
from stablebag.commands.interval import interval
from stablebag.commands.measure import measure
from stablebag.commands.plan import plan_command
from stablebag.commands.predict import predict
from stablebag.commands.reproduce import reproduce
from stablebag.commands.sets import sets
from stablebag.learning.solvers.native import why_not

_SPEED = f"scikit-learn's speed, because {why_not()}".replace("%", "%%") if why_not() else "compiled solvers"


class _Commands(click.Group):
    """Says what is wrong in one sentence and exits with status 2; --debug shows the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(130)
        except Exception as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            lines = str(error).strip().splitlines() or [type(error).__name__]
            click.echo(f"Error: {lines[0]}", err=True)
            ctx.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="stablebag", message=f"%(prog)s %(version)s ({_SPEED})")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Algorithmic stability you can install: predictions that do not hinge on any single training row.

    \b
    Example:
      stablebag demo
    Shell completion for bash, for your ~/.bashrc:
      eval "$(_STABLEBAG_COMPLETE=bash_source stablebag)"
    """


for command in (certify, plan_command, measure, interval, sets, predict, demo, reproduce):
    main.add_command(command)
