"""What each column of a file is: text, category, number, count, date, identifier, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.inputs.cells import MISSING_MARKS, NUMBER_STYLES, find_missing, number_style, parse_dates, parse_numbers

__all__ = ["LEARNED_ROLES", "ROLES", "ColumnRole", "decide_roles"]

#: Roles a model learns from; columns with the others are left out.
LEARNED_ROLES = ("text", "category", "number", "count", "date")
ROLES = (*LEARNED_ROLES, "id", "constant", "empty", "ignore")

#: Whole-number columns with at most this many different values are read as categories.
FEW_VALUES = 10
#: Texts of which there are at most so many, each so often on average, are answers to choose from and no sentences.
FEW_TEXTS, OFTEN = 20, 25
#: Columns with fewer cells than this are never taken for identifiers.
ENOUGH_FOR_ID = 20
#: Cells that are looked at to tell texts from categories.
SAMPLE = 2_000
#: Texts among numbers that are named where they are refused.
MOST_NAMED = 2
#: Whole numbers whose variance is within these multiples of their mean look like counts.
COUNT_DISPERSION = (0.4, 3.0)

_NAME_OF_ID = re.compile(r"(.*[_ .-])?(id|uuid|guid|key|index|nr|no)|unnamed.*|", re.IGNORECASE)


@dataclass(frozen=True)
class ColumnRole:
    """What a column is taken for.

    Attributes
    ----------
    name : str
    role : str
        One of :data:`ROLES`.
    reason : str
        Why, in words.
    style : str
        How its numbers are written, one of :data:`softcount.inputs.cells.NUMBER_STYLES`.
    """

    name: str
    role: str
    reason: str
    style: str = "plain"

    @property
    def is_learned(self) -> bool:
        """Whether the model learns from the column."""
        return self.role in LEARNED_ROLES


def decide_roles(
    table: Mapping[str, Sequence[Any]],
    asked: Mapping[str, str] | None = None,
    marks: Collection[str] = MISSING_MARKS,
    *,
    where: Callable[[int], str] = "row {}".format,
) -> list[ColumnRole]:
    """Decide the role of every column, unless it is told.

    Parameters
    ----------
    table : mapping of str to sequence
        Cells by column: texts, numbers, booleans, dates or None.
    asked : mapping of str to str, optional
        Roles of some columns.
    marks : collection of str
        Texts that stand for a missing value.
    where : callable
        Says where in the file a row is.

    Returns
    -------
    roles : list of ColumnRole
    """
    asked = dict(asked or {})
    for name, role in asked.items():
        if name not in table:
            raise InputError(
                f"A role is given for the column {name!r}, which is not there. The columns are {list(table)}."
            )
        if role not in ROLES:
            raise InputError(f"Column {name!r} is to be {role!r}; choose one of {', '.join(ROLES)}.")
    roles = []
    for name, cells in table.items():
        missing = find_missing(cells, marks)
        wanted = asked.get(name)
        roles.append(
            _decide(name, cells, missing, where) if wanted is None else _as_asked(name, wanted, cells, missing, where)
        )
    return roles


def _as_asked(
    name: str, role: str, cells: Sequence[Any], missing: BoolArray, where: Callable[[int], str]
) -> ColumnRole:
    if role in ("number", "count"):
        style = number_style(cells, missing)
        if style is None:
            # The way in which most cells are numbers is the one that the others depart from.
            found = [parse_numbers(cells, missing, style)[1] for style in NUMBER_STYLES]
            first = int(min(found, key=len)[0])
            raise InputError(f"Column {name!r} is to be a {role}, but {where(first)} holds {cells[first]!r} there.")
        return ColumnRole(name, role, "as asked", style)
    if role == "date":
        _, wrong = parse_dates(cells, missing)
        if wrong.size:
            first = int(wrong[0])
            raise InputError(
                f"Column {name!r} is to be a date, but {where(first)} holds {cells[first]!r} there. Dates are written "
                "like 2026-11-18, 2026-11-18T20:30 or 18.11.2026."
            )
    return ColumnRole(name, role, "as asked")


def _decide(name: str, cells: Sequence[Any], missing: BoolArray, where: Callable[[int], str]) -> ColumnRole:
    observed = list(cells)
    if missing.any():
        observed = [cell for cell, lost in zip(cells, missing.tolist(), strict=True) if not lost]
    if not observed:
        return ColumnRole(name, "empty", "no value at all")
    try:
        distinct = set(observed)
    except TypeError:
        return ColumnRole(name, "ignore", "holds lists or nested values")
    if len(distinct) == 1:
        return ColumnRole(name, "constant", f"every value is {_short(next(iter(distinct)))}")
    if all(isinstance(value, bool) for value in distinct):
        return ColumnRole(name, "category", "true or false")
    style = number_style(cells, missing)
    if style is not None:
        return _decide_numbers(name, cells, missing, distinct, style)
    present = np.zeros(len(observed), dtype=bool)
    if not parse_dates(observed[:100], present[:100])[1].size and not parse_dates(observed, present)[1].size:
        return ColumnRole(name, "date", "dates, taken as days")
    if len(distinct) > 0.5 * len(observed):
        _refuse_stray_cells(name, cells, missing, where)
    return _decide_texts(name, observed, len(distinct))


def _decide_numbers(name: str, cells: Sequence[Any], missing: BoolArray, distinct: set[Any], style: str) -> ColumnRole:
    values, _ = parse_numbers(cells, missing, style)
    values = values[~missing]
    how = "" if style == "plain" else f", written with {style}"
    has_zeros = any(isinstance(v, str) and len(v) > 1 and v[0] == "0" and v.isdigit() for v in distinct)
    is_unique = len(distinct) == values.size >= ENOUGH_FOR_ID
    if has_zeros:
        if is_unique:
            return ColumnRole(name, "id", "digits with leading zeros, every one different")
        return ColumnRole(name, "category", f"digits with leading zeros, {len(distinct):,} different ones")
    if not (values == np.floor(values)).all():
        if len(distinct) == 2:
            return ColumnRole(name, "category", "two different numbers")
        return ColumnRole(name, "number", f"numbers{how}", style)
    if is_unique and (_NAME_OF_ID.fullmatch(name) or np.ptp(values) == values.size - 1):
        return ColumnRole(name, "id", "whole numbers, every one different")
    if len(distinct) <= FEW_VALUES:
        return ColumnRole(name, "category", f"whole numbers with {len(distinct)} different values{how}")
    if values.min() >= 0 and _looks_like_counts(values):
        return ColumnRole(name, "count", f"whole numbers that vary as counts do{how}", style)
    return ColumnRole(name, "number", f"whole numbers with many different values{how}", style)


def _looks_like_counts(values: FloatArray) -> bool:
    low, high = COUNT_DISPERSION
    return bool(low <= values.var() / values.mean() <= high)


def _refuse_stray_cells(name: str, cells: Sequence[Any], missing: BoolArray, where: Callable[[int], str]) -> None:
    """Refuse a column of numbers in which a few cells are none: dropping it, or them, would be a silent loss."""
    sample = slice(None, None, max(1, len(cells) // 100))
    for style in NUMBER_STYLES:
        if len(cells) > SAMPLE and parse_numbers(cells[sample], missing[sample], style)[1].size > 50:
            # Of a hundred cells from all over the column, half are no numbers: it is not nearly all numbers.
            continue
        numbers, wrong = parse_numbers(cells, missing, style)
        n_numbers = int(np.isfinite(numbers).sum())
        if not wrong.size or n_numbers < max(0.9 * (n_numbers + wrong.size), 10):
            continue
        first = int(wrong[0])
        strays = list(dict.fromkeys(_short(cells[i]) for i in wrong.tolist()))
        which = "them" if len(strays) > MOST_NAMED else " and ".join(strays)
        raise InputError(
            f"Column {name!r} holds numbers in {n_numbers:,} cells and something else in {wrong.size:,}: "
            f"{where(first)} holds {_short(cells[first])}. Correct the cells, declare {which} missing (missing_marks; "
            "on the command line --missing), or give the column a role ('category', 'text' or 'ignore')."
        )


def _decide_texts(name: str, observed: Sequence[Any], n_distinct: int) -> ColumnRole:
    step = max(1, len(observed) // SAMPLE)
    sample = [str(cell) for cell in observed[::step]]
    n_words = sum(len(text.split()) for text in sample) / len(sample)
    share = n_distinct / len(observed)
    if n_distinct <= FEW_TEXTS and len(observed) >= OFTEN * n_distinct:
        return ColumnRole(name, "category", f"{n_distinct:,} different values, each many times")
    if n_words >= 4.0 or (share > 0.5 and n_words >= 2.0):
        return ColumnRole(name, "text", f"about {n_words:.0f} words a cell")
    if share > 0.5 and _is_unspaced(sample):
        return ColumnRole(name, "text", "a script without spaces between words")
    if len(observed) >= ENOUGH_FOR_ID and n_distinct == len(observed):
        return ColumnRole(name, "id", "every value is different")
    if len(observed) >= 100 and share > 0.9:
        return ColumnRole(name, "id", f"nearly every value is different ({n_distinct:,} of {len(observed):,})")
    return ColumnRole(name, "category", f"{n_distinct:,} different values")


def _is_unspaced(sample: Sequence[str]) -> bool:
    """Whether the cells are phrases of a script that puts no spaces between words, as Chinese, Japanese and Thai."""
    letters = [sum(char.isalpha() and ord(char) >= 0x0E00 for char in text) for text in sample]
    return sum(letters) >= 6 * len(sample)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
