"""What a first look at all rows finds: columns, classes, and how many rows there are of each.

The look goes batch by batch, and what it finds in two parts of the rows adds up; so it can be made one batch after the
other, or by the workers of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import STORED_NUMBERS
from softcount.core.facts import Facts
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.inputs.label_matrix import is_label_matrix
from softcount.inputs.label_survey import LabelSurvey
from softcount.inputs.labels import Labels

__all__ = ["BlockSurvey", "ColumnsSurvey", "RowsSurvey", "Survey", "like_layout"]


class ColumnsSurvey(Protocol):
    """What some rows say about the columns; an estimator's own."""

    def __add__(self, other: Self) -> Self: ...


@dataclass(frozen=True)
class BlockSurvey:
    """What a block of some rows looks like.

    Attributes
    ----------
    kind : type
        The class of the block.
    n_columns : int
    dtype : dtype or None
        Of the cells; None where every stored cell is one.
    has_missing : bool
    stored : int
        Stored entries of a sparse block.
    threshold : float or None
    """

    kind: type
    n_columns: int
    dtype: Any
    has_missing: bool
    stored: int = 0
    threshold: float | None = None

    @classmethod
    def of(cls, block: Block) -> BlockSurvey:
        """The block's own."""
        if isinstance(block, SparseBlock):
            stored = int(block.indptr[-1] - block.indptr[0])
            dtype = None if block.data is None else block.data.dtype
            return cls(SparseBlock, block.n_columns, dtype, block.has_missing, stored)
        if isinstance(block, CodesBlock):
            return cls(CodesBlock, block.n_columns, block.codes.dtype, has_missing=False)
        return cls(DenseBlock, block.n_columns, block.values.dtype, block.has_missing, 0, block.threshold)

    def __add__(self, other: BlockSurvey) -> BlockSurvey:
        if self.kind is not other.kind:
            raise InputError("Some batches are sparse and others dense. Give all of them in one form.")
        dtypes = [d for d in (self.dtype, other.dtype) if d is not None]
        return replace(
            self,
            dtype=np.result_type(*dtypes) if dtypes else None,
            has_missing=self.has_missing or other.has_missing,
            stored=self.stored + other.stored,
            # A batch whose cells are 0 and 1 alone has none, and is not changed by that of the others.
            threshold=other.threshold if self.threshold is None else self.threshold,
        )

    def layout(self) -> Block:
        """A block without rows that shows kind, columns and missing cells."""
        if self.kind is SparseBlock:
            start, nothing = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
            data = None if self.dtype is None else np.empty(0, dtype=self.dtype)
            missing = SparseBlock(start, nothing, None, self.n_columns) if self.has_missing else None
            return SparseBlock(start, nothing, data, self.n_columns, missing)
        return DenseBlock(np.empty((0, self.n_columns), dtype=self.dtype), self.has_missing, self.threshold)

    def width(self, n_rows: int) -> float:
        """Numbers per row, as :func:`softcount.core.chunks.row_width` counts them."""
        return STORED_NUMBERS * self.stored / max(n_rows, 1) if self.kind is SparseBlock else float(self.n_columns)


def like_layout(block: Block, layout: Block) -> Block:
    """A batch's block in the form that all rows have."""
    if isinstance(block, DenseBlock) and isinstance(layout, DenseBlock):
        values = block.values.astype(layout.values.dtype, copy=False)
        return DenseBlock(values, layout.has_missing, layout.threshold)
    if isinstance(block, SparseBlock) and isinstance(layout, SparseBlock):
        data = block.data if block.data is None or layout.data is None else block.data.astype(layout.data.dtype)
        if data is None and layout.data is not None:
            data = np.ones(block.indices.shape[0], dtype=layout.data.dtype)
        return replace(block, data=data)
    return block


@dataclass(frozen=True)
class RowsSurvey:
    """Columns of one kind, laid out in blocks.

    Attributes
    ----------
    names : tuple of str or None
        Names of the columns, where there are any.
    n_features : int
    blocks : tuple of BlockSurvey
    total : float
        Sum of all cells, for those who want a mean length.
    """

    names: tuple[Any, ...] | None
    n_features: int
    blocks: tuple[BlockSurvey, ...]
    total: float = 0.0

    def __add__(self, other: RowsSurvey) -> RowsSurvey:
        check_same_columns((self.names, self.n_features), (other.names, other.n_features))
        blocks = tuple(a + b for a, b in zip(self.blocks, other.blocks, strict=True))
        return RowsSurvey(self.names, self.n_features, blocks, self.total + other.total)


def check_same_columns(one: tuple[Any, int], other: tuple[Any, int]) -> None:
    """Refuse batches with different columns."""
    if one[1] != other[1]:
        raise InputError(f"One batch has {one[1]} columns, another {other[1]}; all have to have the same columns.")
    if one[0] != other[0]:
        raise InputError(
            f"One batch has the columns {_short(one[0])}, another {_short(other[0])}; all have to have the same "
            "columns in the same order."
        )


def _short(names: Any) -> str:
    return "without names" if names is None else str(list(names[:20]))


@dataclass(frozen=True)
class Survey:
    """A first look at some rows.

    Attributes
    ----------
    n_rows : int
    columns : ColumnsSurvey
        What the estimator's columns look like.
    labels : LabelSurvey or None
        None where there are no labels, or rows of probabilities.
    given : Facts or None
        Facts of rows of probabilities, whose classes are known from the first row on.
    classes : array or None
        Those classes.
    total_weight : float
    n_used : int
        Rows of weight above zero.
    """

    n_rows: int
    columns: Any
    labels: LabelSurvey | None
    given: Facts | None
    classes: NDArray[Any] | None
    total_weight: float
    n_used: int

    @classmethod
    def of(cls, estimator: Any, columns: Any, n_rows: int, y: Any, weight: FloatArray | None) -> Survey:
        """The look at one batch."""
        total = float(n_rows if weight is None else weight.sum())
        used = n_rows if weight is None else int(np.count_nonzero(weight > 0.0))
        if y is None:
            return cls(n_rows, columns, None, None, None, total, used)
        if is_label_matrix(y):
            labels, classes = estimator._read_labels(y, n_rows)
            return cls(n_rows, columns, None, Facts.of(n_rows, labels, weight), classes, total, used)
        found = LabelSurvey.of(y, weight)
        n_labels = int(sum(counts[0] for counts in found.totals.values()))
        if n_labels != n_rows:
            raise InputError(f"X has {n_rows} rows, but y has {n_labels} labels.")
        return cls(n_rows, columns, found, None, None, total, used)

    def __add__(self, other: Survey) -> Survey:
        if (self.labels is None, self.given is None) != (other.labels is None, other.given is None):
            raise InputError("Some batches come with labels (or rows of probabilities) and others do not.")
        if self.classes is not None and not np.array_equal(self.classes, np.asarray(other.classes)):
            raise InputError("The batches' rows of probabilities are of different classes.")
        return Survey(
            self.n_rows + other.n_rows,
            self.columns + other.columns,
            None if self.labels is None or other.labels is None else self.labels + other.labels,
            None if self.given is None or other.given is None else self.given + other.given,
            self.classes,
            self.total_weight + other.total_weight,
            self.n_used + other.n_used,
        )

    def settled(self, estimator: Any) -> tuple[Facts, Labels | None, NDArray[Any]]:
        """Facts of all rows, labels that stand for all of them, and the classes."""
        if self.given is not None:
            assert self.classes is not None
            n_open = 0 if self.given.n_open == 0 else 1
            codes = np.full(1, -1 if n_open else 0, dtype=np.int32)
            return self.given, Labels(codes, self.classes.shape[0], fixed=self.given.fixed), self.classes
        if self.labels is None:
            labels, classes = estimator._read_labels(None, 1)
            return self._facts_of(labels, np.array([[self.n_rows, self.n_used, self.total_weight]])), labels, classes
        entries, totals = self.labels.small()
        labels, classes = estimator._read_labels(entries, entries.shape[0])
        return self._facts_of(labels, totals), labels, classes

    def _facts_of(self, labels: Labels | None, totals: FloatArray) -> Facts:
        if labels is None:
            return Facts(self.n_rows, self.total_weight, self.n_rows, self.n_used)
        unlabeled = labels.is_unlabeled()
        unsettled = unlabeled if labels.fixed else labels.codes < 0
        known = labels.codes >= 0
        counted = np.bincount(labels.codes[known], totals[known, 1], minlength=labels.n_classes)
        return Facts(
            self.n_rows,
            self.total_weight,
            int(totals[unsettled, 0].sum()),
            int(totals[unlabeled, 1].sum()),
            counted.astype(np.int64),
            labels.class_support(totals[:, 2]),
            labels.fixed,
            0 if labels.factor_row is None else int(totals[labels.factor_row >= 0, 0].sum()),
        )
