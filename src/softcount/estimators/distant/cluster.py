"""Dask collections as rows of a fit, and lazy answers about them.

A collection is taken apart into its partitions, which stay where they are. Looks at them come back as surveys, which
are small; the rows they become stay on the workers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.core.cluster_loss import persistently, worker_threads
from softcount.core.cluster_rows import ClusterRows, lay_out
from softcount.core.dask_executor import DaskExecutor, current_client, lazy_rows, made_there, on_partitions
from softcount.core.facts import Facts
from softcount.core.streamed import Piece
from softcount.estimators.distant.training import n_rows_of, weights_of
from softcount.families.blocks import Block
from softcount.inputs.batches import Batch, BatchesSource, at, named

__all__ = ["OnCluster", "lazy_answers", "measured", "survey_partitions", "told_by_parts"]


@dataclass(frozen=True)
class Partitions:
    """The parts of a collection, with their labels and weights.

    Attributes
    ----------
    parts : list of tuple
        Number and rows of each, and its share of everything beside the rows: delayed, values, or None.
    sizes : list of int or None
        Rows of each part, where they are known.
    columns : Columns
    """

    parts: list[tuple[Any, ...]]
    sizes: list[int] | None
    columns: Columns

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        weight: Any,
        features: Sequence[str] | None = None,
        beside: Mapping[str, Any] | None = None,
    ) -> Partitions:
        """The parts of a Dask array, a Dask data frame, or a list of delayed parts."""
        rows, sizes = _delayed_rows(X)
        values = {"y": y, "sample_weight": weight, **(beside or {})}
        # What is one for all rows, or the name of a column, the workers are told.
        told = {name: v if named(v) or _is_number(v) else None for name, v in values.items()}
        shares = [
            [None] * len(rows) if value is None or told[name] is not None else _delayed_beside(name, value, rows, sizes)
            for name, value in values.items()
        ]
        parts = [(number, *part) for number, part in enumerate(zip(rows, *shares, strict=True))]
        return cls(parts, sizes, Columns(told, None if features is None else tuple(features)))


@dataclass(frozen=True)
class Columns:
    """What the columns of tables hold.

    Attributes
    ----------
    values : dict
        Names of the columns of labels, weights and others, by what they hold; None where no column does.
    features : tuple of str or None
        The columns to keep, where not all others are.
    """

    values: dict[str, Any]
    features: tuple[str, ...] | None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


def _delayed_rows(X: Any) -> tuple[list[Any], list[int] | None]:
    if isinstance(X, (list, tuple)):
        return list(X), None
    if not hasattr(X, "chunks"):
        if not hasattr(X, "to_delayed"):  # one delayed part
            return [X], None
        return list(X.to_delayed()), None
    if X.ndim != 2:
        raise InputError(f"Expected 2D array, got {X.ndim}D array instead: X is a Dask array of shape {X.shape}.")
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    sizes = None if any(np.isnan(n) for n in X.chunks[0]) else [int(n) for n in X.chunks[0]]
    return [row[0] for row in X.to_delayed()], sizes


def _delayed_beside(name: str, values: Any, rows: list[Any], sizes: list[int] | None) -> list[Any]:
    """Labels or weights in parts that go with the parts of X."""
    if hasattr(values, "chunks"):
        if sizes is not None and not any(np.isnan(n) for n in values.chunks[0]):
            if sum(values.chunks[0]) != sum(sizes):
                raise InputError(f"X has {sum(sizes)} rows, but {name} has {sum(values.chunks[0])} entries.")
            values = values.rechunk((tuple(sizes), *[-1] * (values.ndim - 1)))
        parts = list(values.to_delayed().reshape(len(values.chunks[0]), -1)[:, 0])
    elif hasattr(values, "to_delayed"):
        parts = list(values.to_delayed())
    elif isinstance(values, (list, tuple)) and values and hasattr(values[0], "__dask_graph__"):
        parts = list(values)
    elif sizes is not None:
        array = values if isinstance(values, np.ndarray) else np.asarray(values)
        if array.shape[0] != sum(sizes):
            raise InputError(f"X has {sum(sizes)} rows, but {name} has {array.shape[0]} entries.")
        parts = np.split(array, np.cumsum(sizes)[:-1])
    else:
        raise InputError(f"How long the parts of X are is not known, so {name} has to be a Dask collection too.")
    if len(parts) != len(rows):
        raise InputError(f"X is in {len(rows)} parts, but {name} in {len(parts)}. Give both the same partitions.")
    return parts


def _run(number: int, X: Any, *rest: Any) -> Any:
    """Do a job with one part, where it is; parts without rows are None."""
    *shares, job = rest
    columns: Columns = job.columns
    y, weight, *others = shares
    given: Any = X
    if any(share is not None for share in shares):
        given = (X, y, weight, dict(zip(list(columns.values)[2:], others, strict=True)))
    batch = next(BatchesSource([given], columns.values, columns.features).batches(0), None)
    if batch is None:
        return job.of(None)
    beside = {name: whole(value) for name, value in batch.beside.items()}
    return job.of(Batch(whole(batch.X), whole(batch.y), whole(batch.weight), f"partition {number}", beside))


def whole(values: Any) -> Any:
    """Arrays that begin where numbers may: those that came over the network begin anywhere, which kernels refuse."""
    if isinstance(values, np.ndarray):
        return np.require(values, requirements="A")
    if hasattr(values, "indptr") and hasattr(values, "indices"):
        arrays = tuple(np.require(a, requirements="A") for a in (values.data, values.indices, values.indptr))
        return type(values)(arrays, shape=values.shape, copy=False)
    return values


# ---- what workers do
@dataclass(frozen=True)
class _Job:
    """Something to do with every part.

    Attributes
    ----------
    columns : Columns
    """

    columns: Columns

    def of(self, batch: Batch | None) -> Any:
        """Do it."""


@dataclass(frozen=True)
class _Look(_Job):
    look: Any

    def of(self, batch: Batch | None) -> Any:
        return None if batch is None else self.look(batch)


@dataclass(frozen=True)
class _Read(_Job):
    reader: Any

    def of(self, batch: Batch | None) -> Piece:
        assert batch is not None  # parts without rows were left out
        piece: Piece = self.reader.piece(batch)
        return piece


@dataclass(frozen=True)
class _Answer(_Job):
    estimator: Any
    method: str
    settings: dict[str, Any]
    none: NDArray[Any]

    def of(self, batch: Batch | None) -> NDArray[Any]:
        if batch is None:
            return self.none
        with at(batch.where):
            return np.asarray(getattr(self.estimator, self.method)(batch.X, **self.settings, **batch.beside))


@dataclass(frozen=True)
class _Measure(_Job):
    estimator: Any
    measure: Any

    def of(self, batch: Batch | None) -> Any:
        if batch is None:
            return None
        with at(batch.where):
            weight = weights_of(batch.weight, n_rows_of(batch.X))
            return self.measure(self.estimator, replace(batch, weight=weight))


# ---- what is asked of them
@dataclass(frozen=True)
class OnCluster:
    """Partitions of which a first look has been had.

    Attributes
    ----------
    client : distributed.Client
    n_jobs : int or None
        Threads for rows in this process's memory.
    columns : Columns
    parts : list of tuple
        Those with rows.
    sizes : list of int
        Rows of each.
    """

    client: Any
    n_jobs: int | None
    columns: Columns
    parts: list[tuple[Any, ...]]
    sizes: list[int]

    def rows(self, reader: Any, layout: tuple[Block, ...], facts: Facts, grid: dict[str, Any]) -> ClusterRows:
        """The rows on a grid; the workers keep them."""
        executor = DaskExecutor(self.client, self.n_jobs)

        def laid_out() -> ClusterRows:
            pieces = made_there(self.client, _run, self.parts, _Read(self.columns, reader))
            return lay_out(self.client, pieces, self.sizes, layout, facts, executor=executor, **grid)

        return persistently(laid_out, self.client)


def survey_partitions(
    estimator: Any, X: Any, y: Any, weight: Any, look: Any, *, beside: Mapping[str, Any] | None = None
) -> tuple[OnCluster, Any]:
    """A look at all rows where they are, and what makes them rows that a cluster keeps."""
    client = current_client()
    if not worker_threads(client):
        warnings.warn(
            f"The Dask cluster at {client.scheduler.address} has no workers; {type(estimator).__name__} waits until "
            "there are some. Start them by: dask worker ADDRESS.",
            UserWarning,
            stacklevel=2,
        )
    given = Partitions.of(X, y, weight, None, beside)
    surveys = on_partitions(client, _run, given.parts, _Look(given.columns, look))
    kept = [(part, survey) for part, survey in zip(given.parts, surveys, strict=True) if survey is not None]
    if not kept:
        raise InputError("There are no rows: found array with 0 sample(s) while a minimum of 1 is required.")
    total: Any = kept[0][1]
    for _, survey in kept[1:]:
        total = total + survey
    sizes = [survey.n_rows for _, survey in kept]
    parts = [part for part, _ in kept]
    return OnCluster(client, getattr(estimator, "n_jobs", None), given.columns, parts, sizes), total


def told_by_parts(X: Any, y: Any, weight: Any, look: Any) -> list[Any]:
    """What ``look(batch)`` says of every part with rows, in their order; it has to be small."""
    given = Partitions.of(X, y, weight)
    found = on_partitions(current_client(), _run, given.parts, _Look(given.columns, look))
    return [part for part in found if part is not None]


def lazy_answers(estimator: Any, method: str, X: Any, settings: dict[str, Any], beside: dict[str, Any]) -> Any:
    """A Dask array of what a method answers, worked out where the rows are when it is asked for."""
    if settings.get("return_std"):
        raise InputError("return_std=True gives two answers, and a Dask array holds one. Use predict_interval.")
    given = Partitions.of(X, None, None, _learned_columns(estimator), beside)
    none = no_answers(estimator, method, settings)
    job = _Answer(given.columns, estimator, method, settings, none)
    return lazy_rows(_run, given.parts, given.sizes, none, job)


def measured(
    estimator: Any, X: Any, y: Any, weight: Any, measure: Any, *, beside: dict[str, Any] | None = None
) -> list[Any]:
    """``measure(estimator, batch)`` of every part with rows, in their order."""
    given = Partitions.of(X, y, weight, _learned_columns(estimator), beside)
    found = on_partitions(current_client(), _run, given.parts, _Measure(given.columns, estimator, measure))
    return [part for part in found if part is not None]


def _learned_columns(estimator: Any) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def no_answers(estimator: Any, method: str, settings: dict[str, Any]) -> NDArray[Any]:
    """An answer for no rows: its type, and how wide it is."""
    classes = getattr(estimator, "classes_", None)
    if method == "predict":
        if classes is not None:
            return np.asarray(classes[:0])
        return np.empty(0, dtype=np.int64 if hasattr(estimator, "weights_") else np.float64)
    if method == "transform":
        return np.empty((0, estimator._n_features_out))
    if method in ("score_samples", "linear_predictor"):
        return np.empty(0)
    if method == "predict_interval":
        return np.empty((0, 2))
    width = len(classes) if classes is not None else estimator.model_.n_classes
    if method == "decision_function" and width == 2:
        return np.empty(0)
    return np.empty((0, estimator.model_.n_components if settings.get("by_component") else width))
