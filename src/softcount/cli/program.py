"""The commands by name, loaded when they are called, and what becomes of their errors."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

import softcount
from softcount.cli.late_imports import HEAVY, import_late
from softcount.cli.outcomes import CommandError, ExitCode

__all__ = ["COMMANDS", "program", "run"]

#: Name -> what it does. The module softcount.cli.commands.<name> defines the command.
COMMANDS = {
    "train": "Learn a model from a table or texts of which some rows have a label.",
    "predict": "Label the rows of another table, in constant memory.",
    "evaluate": "Compare a model's predictions with known labels.",
    "explain": "Show the evidence behind the prediction for one row.",
    "top": "Show what speaks most for each class.",
    "cluster": "Find groups of rows: how many, what marks them, who is in them.",
    "compare": "Compare a generative and a discriminative model on growing samples.",
    "glm": "Fit a generalized linear model and print its table of coefficients.",
    "info": "Show what is in a model file.",
    "demo": "Do the whole job on embedded messages.",
}

#: New objects after which Python looks for cycles; with its own 700, a fifth of the time of reading goes there.
GC_THRESHOLD = 200_000

EPILOG = """\b
Exit codes: 0 done, 1 failure, 2 wrong usage, 3 data that cannot be read or
learned from, 4 not converged (with --strict), 130 interrupted by Ctrl-C.

\b
Example:
  softcount train messages.csv --label label
  softcount predict messages.softcount new.csv -o predictions.csv"""


class _LateGroup(click.Group):
    """Commands that are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"softcount.cli.commands.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from softcount.cli.wording import did_you_mean

            ctx.fail(f"There is no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Without importing them.
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LateGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(softcount.__version__, prog_name="softcount")
def program() -> None:
    """Classify tables and texts from the few labels you have and the many rows without one."""


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit code.

    Parameters
    ----------
    arguments : sequence of str
        As on the command line, without the program's name.
    """
    if hasattr(signal, "SIGTERM"):
        # As an exception, so that files half-written are removed.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    import_late(*HEAVY)
    # A command makes many objects and few cycles, and it does not live long.
    gc.set_threshold(GC_THRESHOLD, 50, 50)
    try:
        outcome = program.main(args=list(arguments), prog_name="softcount", standalone_mode=False, obj=list(arguments))
        sys.stdout.flush()
        return int(outcome or ExitCode.OK)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        # A fit that keeps checkpoints has written those.
        kept = any(argument.partition("=")[0] == "--checkpoint" for argument in arguments)
        left = "with --resume the fit goes on from its checkpoints" if kept else "nothing was written"
        sys.stderr.write(f"\nInterrupted; {left}.\n")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has had enough, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:
        return _tell(error)


def _told_by_system(error: OSError) -> str:
    """What a file that cannot be read or written is said about; a full disk does not say which file it was."""
    if error.strerror is None:
        return str(error)
    if error.filename is None:
        return f"{error.strerror}, while a file was read or written."
    return f"{error.filename}: {error.strerror}."


def _tell(error: Exception) -> int:
    from softcount._errors import InputError
    from softcount.cli.wording import printable

    if os.environ.get("SOFTCOUNT_DEBUG"):
        raise error
    if isinstance(error, CommandError):
        message, code = str(error), error.code
    elif isinstance(error, InputError):
        message, code = str(error), ExitCode.BAD_DATA
    elif isinstance(error, MemoryError):
        message, code = "There is not enough memory for this.", ExitCode.FAILURE
    elif isinstance(error, ConnectionError):
        message, code = str(error), ExitCode.FAILURE
    elif isinstance(error, OSError):
        message, code = _told_by_system(error), ExitCode.FAILURE
    else:
        message = f"Something unforeseen went wrong ({type(error).__name__}: {error}). SOFTCOUNT_DEBUG=1 shows where."
        code = ExitCode.FAILURE
    sys.stderr.write(f"Error: {printable(message)}\n")
    return code
