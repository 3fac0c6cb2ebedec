"""From what the user gave instead of rows in memory to a source of batches, and to rows that a fit can pass over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.core.progress import ReadingProgress
from softcount.core.streamed import Piece, StreamedRows
from softcount.estimators.distant.surveys import Survey
from softcount.estimators.distant.training import BatchReader, DistantBlocks, blank, survey_batch
from softcount.inputs.batches import Batch, BatchesSource, MappedArraySource, Source, is_batches, is_path
from softcount.inputs.labels import Labels
from softcount.inputs.parquet_files import DatasetSource, ParquetSource

__all__ = [
    "answer_source",
    "distant_blocks",
    "is_cluster",
    "is_distant",
    "lies_elsewhere",
    "open_source",
    "rows_of",
    "surveyed",
]

S = TypeVar("S")

#: Rows of a batch, where nothing is known of the model yet, and cells that it may have.
SURVEY_ROWS = 2**14
SURVEY_CELLS = 2**20
#: Shares of a chunk that are read at a time.
SHARES = 4
FEWEST_ROWS = 1024


def is_distant(X: Any) -> bool:
    """Whether X stands for rows that are not in memory, whatever they are answered for."""
    if type(X) is np.ndarray:
        return False
    return is_path(X) or is_dataset(X) or is_cluster(X) or is_batches(X)


def is_mapped(X: Any) -> bool:
    """Whether X is a memory-mapped array: learned from without being copied, answered as an array."""
    return isinstance(X, np.memmap) and X.ndim == 2


def lies_elsewhere(X: Any) -> bool:
    """Whether X stands for rows that are to be learned from without being in memory all at once."""
    return is_distant(X) or is_mapped(X)


def is_dataset(X: Any) -> bool:
    """Whether X is an Arrow dataset."""
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments")


def is_cluster(X: Any) -> bool:
    """Whether X is a Dask collection, or a list of delayed parts."""
    if isinstance(X, (list, tuple)):
        return bool(X) and hasattr(X[0], "__dask_graph__")
    return hasattr(X, "__dask_graph__")


def open_source(
    X: Any, y: Any, weight: Any, features: Sequence[str] | None = None, beside: Mapping[str, Any] | None = None
) -> Source:
    """The source of batches that X stands for; ``beside`` names what else is taken about the rows."""
    values = {"y": y, "sample_weight": weight, **(beside or {})}
    if is_mapped(X):
        return MappedArraySource(X, values)
    if is_path(X):
        return ParquetSource(X, values, features)
    if is_dataset(X):
        return DatasetSource(X, values, features)
    return BatchesSource(X, values, features)


def answer_source(
    estimator: Any, X: Any, y: Any = None, weight: Any = None, beside: Mapping[str, Any] | None = None
) -> Source:
    """The source of rows to answer for: of tables, the columns that the model learned from."""
    names = getattr(estimator, "feature_names_in_", None)
    return open_source(X, y, weight, None if names is None else [str(name) for name in names], beside)


def survey_rows(n_features: int | None) -> int:
    """Rows of a batch to look at."""
    return max(FEWEST_ROWS, min(SURVEY_ROWS, SURVEY_CELLS // max(n_features or 1, 1)))


def distant_blocks(estimator: Any, X: Any, y: Any, weight: Any) -> tuple[DistantBlocks, Labels | None, NDArray[Any]]:
    """What stands for rows that are not in memory, wherever they lie; the estimator learns its columns and classes.

    Returns
    -------
    blocks : DistantBlocks
    labels : Labels or None
        Each label there is, once.
    classes : array
    """
    given, survey = surveyed(estimator, X, y, weight, partial(survey_batch, blank(estimator)))
    reader, (blocks, labels, classes) = settle(estimator, survey)

    def make(layout: Any, facts: Any, grid: dict[str, Any]) -> Any:
        return rows_of(given, reader, layout, facts, grid)

    blocks = DistantBlocks.of(reader.layout, blocks.facts, blocks.width, make)
    if not blocks.facts.total_weight > 0.0:
        raise InputError("Sample weights are zero in all rows, so there is nothing to learn from.")
    return blocks, labels, classes


@dataclass(frozen=True)
class Streamed:
    """Batches of which a first look has been had."""

    source: Source
    on_read: ReadingProgress


def surveyed(
    estimator: Any,
    X: Any,
    y: Any,
    weight: Any,
    look: Callable[[Batch], S],
    *,
    beside: Mapping[str, Any] | None = None,
) -> tuple[Any, S]:
    """What a first look at all rows finds, wherever they lie, and what :func:`rows_of` makes them from.

    Parameters
    ----------
    estimator : estimator
    X, y, weight
        What the user gave.
    look : callable
        Says of a batch something that adds up.
    beside : dict, optional
        What else is taken about the rows, by name.
    """
    if is_cluster(X):
        from softcount.estimators.distant.cluster import survey_partitions

        return survey_partitions(estimator, X, y, weight, look, beside=beside)
    source = open_source(X, y, weight, None, beside)
    name, verbose = type(estimator).__name__, int(getattr(estimator, "verbose", 0))
    progress = ReadingProgress(name, source.n_rows, verbose)
    survey: Any = None
    for batch in source.batches(survey_rows(None)):
        part: Any = look(batch)
        survey = part if survey is None else survey + part
        progress(survey.n_rows)
    if survey is None:
        raise InputError("There are no rows: found array with 0 sample(s) while a minimum of 1 is required.")
    return Streamed(source, ReadingProgress(name, survey.n_rows, verbose)), survey


def rows_of(given: Any, reader: Any, layout: Any, facts: Any, grid: dict[str, Any]) -> Any:
    """The rows on a grid, from what :func:`surveyed` gave.

    Parameters
    ----------
    given : object
    reader : object with ``piece(batch)``
    layout, facts, grid
        As for :class:`~softcount.core.chunks.DistantRows`.
    """
    if isinstance(given, Streamed):
        return StreamedRows(BatchPieces(given.source, reader), layout, facts, **grid, on_read=given.on_read)
    return given.rows(reader, layout, facts, grid)


def settle(estimator: Any, survey: Survey) -> tuple[BatchReader, tuple[DistantBlocks, Labels | None, NDArray[Any]]]:
    """Columns and classes learned from a look at all rows, by the estimator and by a reader of batches."""
    learner = blank(estimator)
    facts, labels, classes = survey.settled(learner)
    layout, width = learner._settle_columns(survey.columns, survey.n_rows)
    parameters = learner.get_params(deep=False)
    for name, value in vars(learner).items():
        if name not in parameters:
            setattr(estimator, name, value)
    if getattr(estimator, "verbose", 0) and hasattr(estimator, "column_report"):
        sys.stderr.write(estimator.column_report() + "\n")
    has_labels = labels is not None
    reader = BatchReader(learner, layout, classes, has_labels=has_labels)
    return reader, (DistantBlocks.of(layout, facts, width, None), labels, classes)


class BatchPieces:
    """Batches of a source, read as rows to count."""

    def __init__(self, source: Source, reader: BatchReader) -> None:
        self._source, self._reader = source, reader

    def pieces(self, rows_per_chunk: int) -> Iterator[Piece]:
        """All rows once more, a share of a chunk at a time."""
        for batch in self._source.batches(max(FEWEST_ROWS, rows_per_chunk // SHARES)):
            yield self._reader.piece(batch)
