"""How an estimator learns its columns from batches, and reads batches once it knows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._types import FloatArray
from softcount.core.chunks import DistantRows, Rows
from softcount.core.facts import Facts
from softcount.core.streamed import Piece
from softcount.estimators.distant.surveys import BlockSurvey, RowsSurvey, Survey, like_layout
from softcount.families.blocks import Block
from softcount.inputs.batches import Batch, at
from softcount.inputs.label_matrix import is_label_matrix
from softcount.inputs.label_survey import distinct_entries
from softcount.inputs.labels import Labels, read_labels
from softcount.inputs.weights import read_weights

__all__ = ["BatchReader", "DistantBlocks", "LearnsFromBatches", "blank", "weights_of"]


class LearnsFromBatches:
    """What an estimator adds for rows that come in batches; rows of one kind need nothing else."""

    def _survey_columns(self, X: Any) -> Any:
        """What a batch says about the columns; called on a blank estimator."""
        this: Any = self
        blocks = this._read_blocks(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        return RowsSurvey(
            None if names is None else tuple(names.tolist()),
            this.n_features_in_,
            tuple(BlockSurvey.of(block) for block in blocks),
        )

    def _settle_columns(self, found: Any, n_rows: int) -> tuple[tuple[Block, ...], float]:
        """Learn the columns from what all batches said; their layout, and numbers per row."""
        self._settle_names(found.names, found.n_features)
        width = sum(survey.width(n_rows) for survey in found.blocks)
        return tuple(survey.layout() for survey in found.blocks), float(width)

    def _settle_names(self, names: tuple[Any, ...] | None, n_features: int) -> None:
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _labels_in(self, classes: NDArray[Any], y: Any, n_rows: int) -> Labels:
        """Labels in classes that are known."""
        this: Any = self
        return read_labels(
            y,
            n_rows,
            missing_label=this.missing_label,
            classes=classes,
            soft_labels=this.soft_labels,
            estimator=type(self).__name__,
            in_order=True,
        )[0]

    def _batch_labels(self, classes: NDArray[Any], y: Any, n_rows: int) -> Labels:
        """The same of a batch: each different entry is read once, however many rows have it."""
        if y is None or is_label_matrix(y):
            return self._labels_in(classes, y, n_rows)
        entries, place = distinct_entries(y)
        return self._labels_in(classes, entries, entries.shape[0]).take(place)

    def _read_batch(self, X: Any, layout: tuple[Block, ...]) -> tuple[Block, ...]:
        """A batch's rows in the form that all rows have."""
        this: Any = self
        blocks = this._read_blocks(X, reset=False)
        return tuple(like_layout(block, shown) for block, shown in zip(blocks, layout, strict=True))


def blank(estimator: Any) -> Any:
    """The estimator with its parameters and nothing learned; starts and seeds, which no reading needs, left behind.

    What its attribute ``decided`` names was settled before the rows are read, and comes along.
    """
    copy = type(estimator)(**estimator.get_params(deep=False))
    for name in ("init", "random_state"):
        if hasattr(copy, name):
            setattr(copy, name, None)
    if hasattr(copy, "verbose"):
        copy.verbose = 0
    for name in getattr(estimator, "decided", ()):
        if hasattr(estimator, name):
            setattr(copy, name, getattr(estimator, name))
    return copy


def weights_of(weight: Any, n_rows: int, name: str = "sample_weight") -> FloatArray | None:
    """The weights of a batch, from whatever holds them."""
    return read_weights(weight.to_numpy() if hasattr(weight, "to_numpy") else weight, n_rows, name)


def n_rows_of(X: Any) -> int:
    """Rows of a batch."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def survey_batch(estimator: Any, batch: Batch) -> Survey:
    """The first look at one batch."""
    with at(batch.where):
        reader = blank(estimator)  # one of its own: reading columns learns them
        n_rows = n_rows_of(batch.X)
        return Survey.of(reader, reader._survey_columns(batch.X), n_rows, batch.y, weights_of(batch.weight, n_rows))


class BatchReader:
    """Reads batches as rows to count, once columns and classes are known.

    Parameters
    ----------
    estimator : estimator
        Blank, with its columns settled.
    layout : tuple of Block
    classes : array
    has_labels : bool
    """

    def __init__(self, estimator: Any, layout: tuple[Block, ...], classes: NDArray[Any], *, has_labels: bool) -> None:
        self.estimator, self.layout, self.classes, self.has_labels = estimator, layout, classes, has_labels

    def piece(self, batch: Batch) -> Piece:
        """The batch as blocks, labels and weights."""
        with at(batch.where):
            blocks = self.estimator._read_batch(batch.X, self.layout)
            n_rows = blocks[0].n_rows
            labels = self.estimator._batch_labels(self.classes, batch.y, n_rows) if self.has_labels else None
            return Piece(blocks, labels, weights_of(batch.weight, n_rows))


class DistantBlocks(tuple[Block, ...]):
    """The layout of rows that are not here, and how to get at them.

    It stands where the blocks of rows in memory stand: whoever wants rows asks :meth:`rows` for them.
    """

    facts: Facts
    width: float
    maker: Any

    @classmethod
    def of(cls, layout: tuple[Block, ...], facts: Facts, width: float, maker: Any) -> DistantBlocks:
        """With what a first look found.

        Parameters
        ----------
        layout : tuple of Block
        facts : Facts
        width : float
            Numbers per row.
        maker : callable
            Makes rows on a grid, from ``(layout, facts, grid)``.
        """
        made = cls(layout)
        made.facts, made.width, made.maker = facts, width, maker
        return made

    @property
    def n_rows(self) -> int:
        """All rows."""
        return self.facts.n_rows

    def rows(self, grid: dict[str, int]) -> Rows:
        """The rows on a grid."""
        rows: DistantRows = self.maker(tuple(self), self.facts, grid)
        return rows
