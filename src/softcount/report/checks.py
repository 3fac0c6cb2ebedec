"""What in the data may mislead: doubled rows, contradicting labels, rare classes, empty columns."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from softcount._types import FloatArray
from softcount.inputs.cells import find_missing
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole
from softcount.report.data import LIMITS, Column
from softcount.report.wording import counted, listed, percent, shown

__all__ = ["data_warnings", "describe_columns", "missing_shares"]

# What may stand between words or not; between digits and before numbers it has a meaning.
_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")
#: A column that lacks more cells than this is warned about.
MUCH_MISSING = 0.5
#: A class with fewer labels than this is warned about.
FEW_LABELS = 10
#: Shares of a class among labels and among predictions may differ by this before it is told.
DRIFT = 0.15


def describe_columns(roles: Sequence[ColumnRole], missing: Mapping[str, float]) -> tuple[Column, ...]:
    """What every column was taken for, and why; ``missing`` has shares of missing cells."""
    return tuple(
        Column(shown(r.name, LIMITS.name), r.role, shown(r.reason, LIMITS.reason), missing.get(r.name))
        for r in roles[: LIMITS.columns]
    )


def missing_shares(table: RawTable, marks: Sequence[str]) -> dict[str, float]:
    """The share of missing cells of every column."""
    if table.n_rows == 0:
        return {}
    return {name: float(find_missing(cells, marks).mean()) for name, cells in table.columns.items()}


def data_warnings(
    table: RawTable,
    labels: Sequence[str | None],
    roles: Sequence[ColumnRole],
    missing: Mapping[str, float],
    *,
    shares: FloatArray | None = None,
    names: Sequence[str] = (),
) -> list[str]:
    """Sentences about what in the data may mislead, the gravest first.

    Parameters
    ----------
    table : RawTable
        Without the column of labels.
    labels : sequence of str or None
    roles : sequence of ColumnRole
    missing : mapping of str to float
        Shares of missing cells.
    shares : array of shape (n_classes,), optional
        Shares of the classes ``names`` among predictions for rows without a label.
    names : sequence of str
        The classes.
    """
    counts = Counter(label for label in labels if label is not None)
    found = [
        *_doubled_rows(table, labels, roles),
        *_rare_classes(counts),
        *_similar_classes(counts),
        *_drift(counts, shares, names),
        # Files are told apart by their names, which softcount has put there.
        *_columns([role for role in roles if (role.name, role.role) != (table.unit, "id")], missing),
    ]
    return [shown(sentence, LIMITS.sentence) for sentence in found[: LIMITS.warnings]]


def _doubled_rows(table: RawTable, labels: Sequence[str | None], roles: Sequence[ColumnRole]) -> Iterator[str]:
    columns = [table.columns[role.name] for role in roles if role.is_learned and role.name in table.columns]
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, label in enumerate(labels):
        if label is not None:
            groups[tuple(_hashable(column[row]) for column in columns)].append(row)
    doubled = [rows for rows in groups.values() if len(rows) > 1]
    conflicting = [rows for rows in doubled if len({labels[row] for row in rows}) > 1]
    if conflicting:
        first = conflicting[0]
        other = next(row for row in first if labels[row] != labels[first[0]])
        yield (
            f"{counted(sum(map(len, conflicting)), 'labeled row')} have the same cells as another one but not the same "
            f"label; for instance {table.where(first[0])} is {labels[first[0]]!r} and {table.where(other)} is "
            f"{labels[other]!r}. No model can get both right: correct one of them."
        )
    n_copies = sum(len(rows) - 1 for rows in doubled)
    n_labeled = sum(map(len, groups.values()))
    if n_copies >= 2 and n_copies > 0.01 * n_labeled:
        yield (
            f"{counted(n_copies, 'labeled row')} of {n_labeled:,} repeat another one cell by cell. Copies on both "
            "sides of a split make the accuracy look better than it is for rows that are new."
        )


def _hashable(cell: Any) -> Any:
    return repr(cell) if isinstance(cell, (list, dict)) else cell


def _rare_classes(counts: Mapping[str, int]) -> Iterator[str]:
    single = [name for name, n in counts.items() if n == 1]
    if single:
        yield (
            f"{_quoted(single)} {'has' if len(single) == 1 else 'have'} a single label, which cannot be held out: "
            "nobody knows how well such rows are recognized. Label at least one more."
        )
    few = [name for name, n in counts.items() if 1 < n < FEW_LABELS]
    if few:
        yield (
            f"{_quoted(few)} {'has' if len(few) == 1 else 'have'} fewer than {FEW_LABELS} labels; figures about "
            f"{'it' if len(few) == 1 else 'them'} are rough."
        )


def _similar_classes(counts: Mapping[str, int]) -> Iterator[str]:
    alike: dict[str, list[str]] = defaultdict(list)
    for name in counts:
        alike[_BETWEEN_WORDS.sub("", name.casefold())].append(name)
    for names in alike.values():
        if len(names) > 1:
            yield f"The classes {_quoted(names)} differ only in how they are written. Are they the same?"


def _drift(counts: Mapping[str, int], shares: FloatArray | None, names: Sequence[str]) -> Iterator[str]:
    if shares is None:
        return
    among_labels = np.array([counts.get(name, 0) for name in names], dtype=np.float64)
    among_labels /= among_labels.sum()
    gap = shares - among_labels
    k = int(np.abs(gap).argmax())
    if abs(gap[k]) > DRIFT:
        yield (
            f"Labeled and unlabeled rows differ: {shown(names[k], 40)!r} is {percent(float(among_labels[k]))} of the "
            f"labels, but {percent(float(shares[k]))} of the predictions for unlabeled rows. If the labeled rows were "
            "not drawn at random, the accuracy here need not hold for the others."
        )


def _columns(roles: Sequence[ColumnRole], missing: Mapping[str, float]) -> Iterator[str]:
    for role in roles:
        share = missing.get(role.name, 0.0)
        if role.is_learned and share > MUCH_MISSING:
            yield f"Column {shown(role.name, 40)!r} lacks {percent(share)} of its cells."
    left_out = [role for role in roles if not role.is_learned and role.reason != "as asked"]
    if left_out:
        what = [f"{shown(role.name, 40)!r} ({role.role}: {shown(role.reason, 60)})" for role in left_out]
        yield f"Nothing is learned from {listed(what)}. If that is wrong, give the column another role with --role."


def _quoted(names: Sequence[str]) -> str:
    return listed([repr(shown(name, 40)) for name in names])
