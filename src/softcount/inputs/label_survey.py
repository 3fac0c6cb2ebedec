"""Labels that come batch by batch: which there are and how often, without keeping a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._types import FloatArray, IntArray
from softcount.inputs.label_codes import narrow_range, narrow_unique
from softcount.inputs.label_values import as_vector, is_null

__all__ = ["LabelSurvey", "distinct_entries", "entry_key"]

#: Stands for every kind of missing label.
NOTHING = ("nothing",)


def distinct_entries(y: Any) -> tuple[NDArray[Any], IntArray]:
    """The different entries of a vector of labels, missing ones among them, and which of them each row has.

    Examples
    --------
    >>> entries, place = distinct_entries(["b", None, "b", "a"])
    >>> [entries[i] for i in place]
    ['b', None, 'b', 'a']
    """
    if hasattr(y, "dictionary_encode"):
        return _of_arrow(y)
    values = as_vector(y)
    if values.dtype.kind != "O":
        span = narrow_range(values)
        if span is not None:
            found, codes = narrow_unique(values, *span)
            return found, codes.astype(np.int64)
        found, inverse = np.unique(values, return_inverse=True)
        return found, inverse.astype(np.int64)
    position: dict[Any, int] = {}
    entries: list[Any] = []
    place = np.empty(values.shape[0], dtype=np.int64)
    for row, value in enumerate(values):
        key = entry_key(value)
        found_at = position.get(key)
        if found_at is None:
            found_at = position[key] = len(entries)
            entries.append(value)
        place[row] = found_at
    return _objects(entries), place


def _of_arrow(y: Any) -> tuple[NDArray[Any], IntArray]:
    """Entries of an Arrow column: text is told apart in Arrow, which is much quicker than one by one."""
    encoded = y.combine_chunks() if hasattr(y, "combine_chunks") else y
    if hasattr(encoded, "chunks"):
        encoded = encoded.chunk(0)
    encoded = encoded if hasattr(encoded, "dictionary") else encoded.dictionary_encode()
    entries, place = distinct_entries(encoded.dictionary.to_pylist())
    lost = np.asarray(encoded.is_null())
    codes = np.asarray(encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
    rows = place[codes] if entries.size else np.zeros(codes.shape[0], dtype=np.int64)
    if lost.any():
        entries = _objects([*entries.tolist(), None])
        rows = np.where(lost, entries.size - 1, rows)
    return entries, rows


def entry_key(value: Any) -> Any:
    """Something to look an entry up by; equal numbers of different types are different entries."""
    if is_null(value):
        return NOTHING
    if isinstance(value, (set, frozenset)):
        return frozenset(value)
    try:
        hash(value)
    except TypeError:
        return (type(value), repr(value))
    return (type(value), value)


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


@dataclass
class LabelSurvey:
    """The different labels of some rows.

    Attributes
    ----------
    entries : dict
        Each entry, by a key of its own.
    totals : dict
        Rows, rows of weight above zero, and weight of each.
    dtypes : set of dtype
        What the arrays were; none where they held objects.
    """

    entries: dict[Any, Any] = field(default_factory=dict)
    totals: dict[Any, FloatArray] = field(default_factory=dict)
    dtypes: set[Any] = field(default_factory=set)

    @classmethod
    def of(cls, y: Any, weight: FloatArray | None) -> LabelSurvey:
        """The labels of a batch."""
        entries, place = distinct_entries(y)
        share = np.ones(place.shape[0]) if weight is None else weight
        size = entries.shape[0]
        counts = np.stack(
            [
                np.bincount(place, minlength=size),
                np.bincount(place[share > 0.0], minlength=size),
                np.bincount(place, share, minlength=size),
            ],
            axis=1,
        )
        found = cls(dtypes={entries.dtype})
        for entry, total in zip(entries.tolist(), counts, strict=True):
            key = entry_key(entry)
            found.entries.setdefault(key, entry)
            found.totals[key] = found.totals[key] + total if key in found.totals else total
        return found

    def __add__(self, other: LabelSurvey) -> LabelSurvey:
        joined = LabelSurvey({**other.entries, **self.entries}, dict(self.totals), self.dtypes | other.dtypes)
        for key, total in other.totals.items():
            joined.totals[key] = joined.totals[key] + total if key in joined.totals else total
        return joined

    def small(self) -> tuple[NDArray[Any], FloatArray]:
        """Every entry once, as an array of the type all labels together have, and their totals, shape (n, 3)."""
        keys = list(self.entries)
        values = [self.entries[key] for key in keys]
        totals = np.array([self.totals[key] for key in keys]).reshape(-1, 3)
        kinds = {dtype.kind for dtype in self.dtypes}
        if kinds <= set("biuf") or kinds <= {"U"}:
            return np.array(values, dtype=np.result_type(*self.dtypes)), totals
        return _objects(values), totals
