"""The command `stablebag`: errors are one sentence, and an interrupt ends a command at once."""

import difflib
import shlex
import signal
import sys
import threading
import traceback
import warnings
from importlib import import_module
from typing import Any

from stablebag import __version__
from stablebag._wording import option_style, visible

try:
    import click
    from rich.console import Console
except ImportError as error:  # pragma: no cover
    raise SystemExit("The command line needs click and rich: pip install 'stablebag[cli]'.") from error


# Each command is a function in its own file, which is imported when it is called.
_COMMANDS = {
    "measure": "measure",
    "interval": "interval",
    "sets": "sets",
    "predict": "predict",
    "compare": "compare",
    "plan": "plan_command",
    "certify": "certify",
    "demo": "demo",
    "reproduce": "reproduce",
}
_LONG = {
    "measure",
    "interval",
    "sets",
    "predict",
    "compare",
    "demo",
    "reproduce",
}  # commands that print at once that they are loading


_FLAGS = {
    "kinds": "--kind",
    "ids": "--id",
    "separator": "--sep",
    "random_state": "--seed",
    "n_refits": "--refits",
    "n_matched": "--matched",
    "confidence_level": "--confidence",
}  # others have the name of the parameter


def as_flag(name: str, value: Any = None) -> str:
    """Return a parameter as an option of the command line.

    >>> as_flag("kinds", {"size": "number"}), as_flag("drop", ["a b", "c"]), as_flag("max_memory")
    ('--kind size=number', "--drop 'a b' --drop c", '--max-memory')
    """
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    if value is None:
        return flag
    if isinstance(value, dict):
        value = [f"{key}={item}" for key, item in value.items()]
    values = value if isinstance(value, list) else [value]
    return " ".join(f"{flag} {shlex.quote(str(one))}" for one in values)


class _Terminated(KeyboardInterrupt):
    """SIGTERM; it ends commands like Ctrl-C."""


class _Commands(click.Group):
    """Prints errors as one sentence and exits with status 2; --debug shows the traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"stablebag.cli.{cmd_name}"), _COMMANDS[cmd_name])
        return command

    def suggestion(self, name: str) -> str:
        """Return an error for an unknown command, with what may have been meant."""
        if "." in name or "/" in name:
            return f"There is no command {name!r}. To measure a table: stablebag measure {name} --target COLUMN"
        near = difflib.get_close_matches(name.lower(), _COMMANDS, n=1)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        return f"There is no command {name!r}. {meant}The commands are {', '.join(_COMMANDS)}."

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            ctx.fail(self.suggestion(args[0]))
        console = Console(stderr=True, force_terminal=sys.stderr.isatty())
        if "scipy" in sys.modules or {"-h", "--help"} & set(args) or not args or args[0] not in _LONG:
            return super().resolve_command(ctx, args)
        if not console.is_terminal:
            console.print("Loading scikit-learn ...")
            return super().resolve_command(ctx, args)
        with console.status("Loading scikit-learn"):  # this takes seconds
            return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        here = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, _terminate) if here else None
        try:
            with option_style(as_flag):
                return super().invoke(ctx)
        except click.ClickException as error:
            error.message = visible(error.message)  # it may contain a path
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as interrupt:
            warnings.simplefilter("ignore")  # the work was abandoned, so its warnings do not matter
            how, code = ("Terminated", 143) if isinstance(interrupt, _Terminated) else ("Interrupted", 130)
            click.echo(f"{how}. {interrupt}".strip(), err=True)
            ctx.exit(code)
        except Exception as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            lines = str(error).strip().splitlines() or [type(error).__name__]
            click.echo(f"Error: {visible(lines[0])}", err=True)
            ctx.exit(2)
        finally:
            if here:
                signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: Any) -> None:
    raise _Terminated


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from stablebag.fast.native.library import why_not

        speed = f"scikit-learn's speed, because {why_not()}" if why_not() else "compiled solvers"
        click.echo(f"stablebag {__version__} ({speed})")
        ctx.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
              help="Show the version and exit.")  # fmt: skip
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Measure how much predictions depend on single training rows.

    \b
    Examples:
      stablebag measure patients.csv --target outcome --output report.html
      stablebag demo

    \b
    For completion in bash, add this line to ~/.bashrc:
      eval "$(_STABLEBAG_COMPLETE=bash_source stablebag)"
    """
