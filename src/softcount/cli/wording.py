"""Words for people: suggestions, numbers, and text of others made safe to print."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence

__all__ = ["command_line", "did_you_mean", "percent", "printable", "shortened", "table_lines"]

# Escape sequences of terminals begin with these; they also hide text (bidirectional overrides).
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udfff]")


def printable(text: object) -> str:
    """Text that cannot steer a terminal: control characters replaced."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(text))


def shortened(text: object, width: int) -> str:
    """One printable line of at most ``width`` characters."""
    line = printable(" ".join(str(text).split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence: ``; did you mean …?`` or a full stop."""
    names = [str(name) for name in known]
    lower = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), lower, n=1)
    return f"; did you mean {lower[found[0]]!r}?" if found else "."


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100.0 * share:.1f} %"


def command_line(*words: object) -> str:
    """A command as one would type it."""
    return printable(shlex.join(str(word) for word in words))


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int = 1) -> list[str]:
    """A table as lines; columns from ``numbers_from`` on are set flush right."""
    cells = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if j < numbers_from else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
