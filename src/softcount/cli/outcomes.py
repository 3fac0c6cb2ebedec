"""How a command can end: exit codes, and the errors that lead to them."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CommandError", "DataError", "ExitCode", "UsageError"]


class ExitCode(IntEnum):
    """What the shell is told."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    BAD_DATA = 3
    NOT_CONVERGED = 4
    INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot go on, for a reason it can tell."""

    code = ExitCode.FAILURE


class UsageError(CommandError):
    """The options make no sense together, or not with this data."""

    code = ExitCode.USAGE


class DataError(CommandError):
    """A file cannot be read as what it is said to be."""

    code = ExitCode.BAD_DATA
