"""Words for people: numbers, tables, and text of others made safe to show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

__all__ = [
    "command_line",
    "counted",
    "feature_shortened",
    "listed",
    "percent",
    "printable",
    "shortened",
    "shown",
    "table_lines",
]

# Escape sequences of terminals begin with these; they also hide text (bidirectional overrides).
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udfff]")
# A page has no escape sequences, and texts from right to left need their marks; overrides still disguise what is said.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udfff]")


def printable(text: object) -> str:
    """Text that cannot steer a terminal: control characters replaced."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(text))


def shown(text: object, most: int) -> str:
    """At most ``most`` characters of a text on one line, without characters that no page can show.

    Parameters
    ----------
    text : object
    most : int
        A longer text ends in an ellipsis.
    """
    # More than this is cut off anyway; runs of blanks inside may only make it shorter.
    line = _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", " ".join(str(text)[: 8 * most].split()))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def shortened(text: object, width: int) -> str:
    """One printable line of at most ``width`` characters."""
    line = printable(" ".join(str(text).split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def feature_shortened(name: object, width: int) -> str:
    """A feature's name of at most ``width`` characters; of ``column=value`` it is the column that is cut.

    Parameters
    ----------
    name : object
    width : int

    Examples
    --------
    >>> feature_shortened("adoption-of-the-budget-resolution=n", 20)
    'adoption-of-the-b…=n'
    """
    line = printable(" ".join(str(name).split()))
    column, mark, value = line.rpartition("=")
    room = width - len(value) - 2
    if len(line) <= width or not mark or room < width // 3:
        return shortened(line, width)
    return f"{column[:room].rstrip()}…={value}"


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100.0 * share:.1f} %"


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """A number and its noun: ``1 row``, ``2,000 rows``."""
    return f"{number:,.0f} {noun if round(number) == 1 else plural or noun + 's'}"


def listed(words: Sequence[str], most: int = 5) -> str:
    """Words in a sentence: ``a, b and c``; of many the first, and how many more."""
    words = list(words)
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1:,} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


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
