"""What estimators answer about rows that are not in memory: batch by batch, in their order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount.estimators.distant.sources import answer_source, is_cluster, is_distant, survey_rows
from softcount.estimators.distant.training import n_rows_of, weights_of
from softcount.inputs.batches import Batch, at

__all__ = ["AnswersInBatches"]

#: Methods that answer every row for itself.
BY_ROW = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "decision_function",
    "score_samples",
    "responsibilities",
    "transform",
    "linear_predictor",
    "predict_interval",
)


#: What may come beside the rows that are answered for: an array, or the name of a column.
SHIFTS = ("offset", "exposure")


class AnswersInBatches:
    """An estimator whose answers about rows that are not in memory come batch by batch.

    Every method in :data:`BY_ROW` of every subclass takes, beside rows in memory, a Parquet file or folder, an Arrow
    dataset, or batches, and then gives an iterator over the answers, one array per batch; of Dask collections it gives
    a Dask array.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        for name in BY_ROW:
            _wrap(cls, name, _by_row)
        _wrap(cls, "score", _scored)
        _wrap(cls, "_log_likelihood", _summed)


def _wrap(cls: type, name: str, wrapper: Callable[[str, Any], Any]) -> None:
    method = getattr(cls, name, None)
    if isinstance(method, FunctionType) and not hasattr(method, "in_memory"):
        wrapped = wrapper(name, method)
        wrapped.in_memory = method
        setattr(cls, name, wrapped)


def _by_row(name: str, method: Any) -> Any:
    @functools.wraps(method)
    def answer(self: Any, X: Any, *args: Any, **settings: Any) -> Any:
        if not is_distant(X):
            return method(self, X, *args, **settings)
        check_is_fitted(self)
        if any(value is not None for value in args):
            raise InputError(f"{type(self).__name__}.{name} takes no labels where rows are not in memory; leave y out.")
        beside = {shift: settings.pop(shift) for shift in SHIFTS if settings.get(shift) is not None}
        if is_cluster(X):
            from softcount.estimators.distant.cluster import lazy_answers

            return lazy_answers(self, name, X, settings, beside)
        return _answers(self, method, X, settings, beside)

    return answer


def _answers(estimator: Any, method: Any, X: Any, settings: dict[str, Any], beside: dict[str, Any]) -> Iterator[Any]:
    source = answer_source(estimator, X, beside=beside)
    for batch in source.batches(survey_rows(estimator.n_features_in_)):
        with at(batch.where):
            answer = method(estimator, batch.X, **settings, **batch.beside)
        yield answer


def _summed(name: str, method: Any) -> Any:
    """The log-likelihood and total weight of all rows from those of every batch."""

    @functools.wraps(method)
    def answer(self: Any, X: Any, sample_weight: Any) -> Any:
        if not is_distant(X):
            return method(self, X, sample_weight)
        check_is_fitted(self)
        parts = over_batches(self, X, None, sample_weight, functools.partial(_log_likelihood_of, method))
        total = sum(weight for _, weight in parts)
        if not total > 0.0:
            raise InputError("Sample weights are zero in all rows, so there is nothing to judge the model by.")
        return sum(value for value, _ in parts), total

    return answer


def _log_likelihood_of(method: Any, estimator: Any, batch: Batch) -> tuple[float, float]:
    X, weight = batch.X, batch.weight
    if weight is not None and not weight.any():
        return 0.0, 0.0
    value, total = method(estimator, X, weight)
    return float(value), float(total)


def _scored(name: str, method: Any) -> Any:
    """What a classifier scores: the share of the weight of rows whose class is predicted; others say it themselves."""

    @functools.wraps(method)
    def answer(self: Any, X: Any, y: Any = None, sample_weight: Any = None, **settings: Any) -> Any:
        if not is_distant(X) or not hasattr(self, "classes_"):
            if sample_weight is not None:
                settings["sample_weight"] = sample_weight
            return method(self, X, y, **settings)
        check_is_fitted(self)
        parts = over_batches(self, X, y, sample_weight, _hits_of)
        total = sum(weight for _, weight in parts)
        if not total > 0.0:
            raise InputError("Sample weights are zero in all rows, so there is nothing to judge the model by.")
        return float(sum(value for value, _ in parts) / total)

    return answer


def _hits_of(estimator: Any, batch: Batch) -> tuple[float, float]:
    X, y, weight = batch.X, batch.y, batch.weight
    if y is None:
        raise InputError("score compares predictions with labels: name the column of the labels with y=.")
    predicted = estimator.predict(X)
    truth = np.asarray(y.to_pylist() if hasattr(y, "to_pylist") else y)
    hits = np.asarray(predicted == truth, dtype=np.float64)
    share = np.ones(hits.shape[0]) if weight is None else weight
    return float(share @ hits), float(share.sum())


def over_batches(
    estimator: Any, X: Any, y: Any, weight: Any, measure: Any, *, beside: dict[str, Any] | None = None
) -> list[Any]:
    """``measure(estimator, batch)`` of every batch, its weights read, in their order."""
    if is_cluster(X):
        from softcount.estimators.distant.cluster import measured

        return measured(estimator, X, y, weight, measure, beside=beside)
    found = []
    for batch in answer_source(estimator, X, y, weight, beside).batches(survey_rows(estimator.n_features_in_)):
        with at(batch.where):
            found.append(measure(estimator, replace(batch, weight=weights_of(batch.weight, n_rows_of(batch.X)))))
    return found
