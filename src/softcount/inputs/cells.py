"""The cells of a table as they come from a file: which are missing, and which are numbers or dates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._types import BoolArray, FloatArray

__all__ = ["MISSING_MARKS", "NUMBER_STYLES", "find_missing", "number_style", "parse_dates", "parse_numbers"]

#: Cells that mean "no value here"; spaces around them do not count.
MISSING_MARKS = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"})

#: Ways of writing numbers: 1234.5, then 1,234.5, then 1.234,5 (or 1 234,5).
NUMBER_STYLES = ("plain", "comma thousands", "decimal comma")

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?|[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}([. \u00a0\u202f]\d{3})+|\d+)(,\d*)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?", re.ASCII)
#: As in much of Europe: day, month, year.
_DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})( \d{2}:\d{2}(?::\d{2})?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_PER_DAY = 86_400.0


def find_missing(cells: Sequence[Any], marks: Collection[str] = MISSING_MARKS) -> BoolArray:
    """Where cells hold no value: None, NaN, or a text that is one of the marks.

    Parameters
    ----------
    cells : sequence
        Texts, numbers, booleans, dates or None.
    marks : collection of str
        Texts that stand for a missing value.
    """
    marks = {mark.strip() for mark in marks}
    try:
        # This runs over every cell of every file, and the cells of most are texts.
        return np.fromiter(map(marks.__contains__, map(str.strip, cells)), dtype=bool, count=len(cells))
    except TypeError:
        return np.array([_is_missing(cell, marks) for cell in cells], dtype=bool)


def _is_missing(cell: Any, marks: Collection[str]) -> bool:
    if isinstance(cell, str):
        return cell.strip() in marks
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def parse_numbers(cells: Sequence[Any], missing: BoolArray, style: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Cells as numbers, and the positions of those that are none.

    Parameters
    ----------
    cells : sequence
    missing : array of bool
        Cells to leave out; they become NaN.
    style : str
        One of :data:`NUMBER_STYLES`.
    """
    reader = _READERS[style]
    values = np.full(len(cells), math.nan)
    wrong: list[int] = []
    for i, (cell, is_missing) in enumerate(zip(cells, missing.tolist(), strict=True)):
        if is_missing:
            continue
        number = reader(cell.strip()) if isinstance(cell, str) else _plain_value(cell)
        if number is None or not math.isfinite(number):
            wrong.append(i)
        else:
            values[i] = number
    return values, np.array(wrong, dtype=np.int64)


def number_style(cells: Sequence[Any], missing: BoolArray) -> str | None:
    """The first way of writing numbers in which every cell is one, or None."""
    for style in NUMBER_STYLES:
        # Most columns of words show on their first cells that they hold no numbers.
        start = min(len(cells), 100)
        _, wrong = parse_numbers(cells[:start], missing[:start], style)
        if wrong.size:
            continue
        _, wrong = parse_numbers(cells[start:], missing[start:], style)
        if not wrong.size:
            return style
    return None


def _plain_value(cell: Any) -> float | None:
    if isinstance(cell, (int, float)):
        try:
            return float(cell)
        except OverflowError:
            return None
    # Decimals of Parquet files.
    return float(cell) if type(cell).__name__ == "Decimal" else None


def _read_plain(text: str) -> float | None:
    return float(text) if _PLAIN.fullmatch(text) else None


def _read_comma_thousands(text: str) -> float | None:
    return float(text.replace(",", "")) if _COMMA_THOUSANDS.fullmatch(text) else None


def _read_decimal_comma(text: str) -> float | None:
    if not _DECIMAL_COMMA.fullmatch(text):
        return None
    return float(re.sub(r"[. \u00a0\u202f]", "", text).replace(",", "."))


_READERS: dict[str, Callable[[str], float | None]] = {
    "plain": _read_plain,
    "comma thousands": _read_comma_thousands,
    "decimal comma": _read_decimal_comma,
}


def parse_dates(cells: Sequence[Any], missing: BoolArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Dates (``2026-11-18`` or ``18.11.2026``, perhaps with a time) as days since 1970, and where cells are none.

    Parameters
    ----------
    cells : sequence
    missing : array of bool
        Cells to leave out; they become NaN.
    """
    values = np.full(len(cells), math.nan)
    wrong: list[int] = []
    for i, (cell, is_missing) in enumerate(zip(cells, missing.tolist(), strict=True)):
        if is_missing:
            continue
        moment = _read_date(cell)
        if moment is None:
            wrong.append(i)
        else:
            values[i] = (moment - _EPOCH).total_seconds() / _SECONDS_PER_DAY
    return values, np.array(wrong, dtype=np.int64)


def _read_date(cell: Any) -> datetime | None:
    if isinstance(cell, str):
        text = cell.strip()
        dotted = _DOTTED_DATE.fullmatch(text)
        if dotted is not None:
            text = f"{dotted[3]}-{dotted[2]:0>2}-{dotted[1]:0>2}{dotted[4] or ''}"
        elif not _DATE.fullmatch(text):
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
    elif isinstance(cell, datetime):
        moment = cell
    elif isinstance(cell, date):
        moment = datetime(cell.year, cell.month, cell.day)
    else:
        return None
    # A time without a zone is read as one in UTC, so that the answer does not depend on the machine.
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None
