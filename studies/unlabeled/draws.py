"""One draw: some labels, every method fitted to them, and how good each is on the test part."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.unlabeled.data_sets import DataSet, load

__all__ = ["METHODS", "Job", "Result", "calibration_error", "draw_labels", "run", "with_nan"]

#: Methods by their name in tables.
METHODS = {
    "labeled": "labeled only",
    "plain": "plain EM",
    "default": "default",
    "self_training": "self-training",
    "spreading": "label spreading",
}
N_BINS = 15


@dataclass(frozen=True)
class Job:
    """A data set, a number of labels and a seed."""

    name: str
    n_labels: int
    seed: int


@dataclass(frozen=True)
class Result:
    """What one draw gave.

    Attributes
    ----------
    name, n_labels, seed
        The job.
    accuracy, calibration : dict of method -> float
        On the test part.
    used : str
        How the default used the unlabeled rows.
    verdict : dict
        The default's verdict: direction, whether it is conclusive, the difference and its sentence.
    """

    name: str
    n_labels: int
    seed: int
    accuracy: dict[str, float]
    calibration: dict[str, float]
    used: str
    verdict: dict[str, Any]


def draw_labels(data: DataSet, n_labels: int, seed: int) -> NDArray[np.int64]:
    """Rows that get to keep their label."""
    rng = np.random.default_rng(seed)
    n_classes = int(data.y.max()) + 1
    if data.labels_per_class:
        return np.concatenate([rng.permutation(np.flatnonzero(data.y == k))[:n_labels] for k in range(n_classes)])
    while True:
        rows = rng.permutation(data.y.size)[:n_labels]
        if np.unique(data.y[rows]).size == n_classes:
            return rows


def calibration_error(probability: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Expected calibration error of the most probable class: mean gap between confidence and accuracy in 15 bins."""
    confidence, hit = probability.max(axis=1), probability.argmax(axis=1) == y
    place = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gap = np.bincount(place, confidence - hit, minlength=N_BINS)
    return float(np.abs(gap).sum() / y.size)


def run(job: Job) -> Result:
    """Fit every method, with everything else at its default."""
    data = load(job.name)
    rows = draw_labels(data, job.n_labels, job.seed)
    y = with_nan(data, rows)
    fits: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, weight in (("labeled", 0.0), ("plain", 1.0), ("default", "auto")):
            fits[method] = data.classifier(unlabeled_weight=weight, n_jobs=1).fit(data.X, y)
        accuracy = {method: float(fit.score(data.X_test, data.y_test)) for method, fit in fits.items()}
        accuracy["self_training"] = _self_training(data, rows)
        if data.numbers is not None:
            accuracy["spreading"] = _label_spreading(data, rows)
    default = fits["default"]
    calibration = {
        method: calibration_error(fits[method].predict_proba(data.X_test), data.y_test)
        for method in ("labeled", "default")
    }
    found = default.unlabeled_verdict_
    verdict = {
        "direction": found.direction,
        "conclusive": found.conclusive,
        "difference": found.difference,
        "sentence": found.sentence,
    }
    used = default.unlabeled_use_
    return Result(job.name, job.n_labels, job.seed, accuracy, calibration, used, verdict)


def with_nan(data: DataSet, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The labels of some rows, NaN for the others."""
    y = np.full(data.y.size, np.nan)
    y[rows] = data.y[rows]
    return y


def _with_minus_one(data: DataSet, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    y = np.full(data.y.size, -1)
    y[rows] = data.y[rows]
    return y


def _self_training(data: DataSet, rows: NDArray[np.int64]) -> float:
    """scikit-learn's self-training over the same naive Bayes."""
    from sklearn.semi_supervised import SelfTrainingClassifier

    model = SelfTrainingClassifier(data.classifier(n_jobs=1)).fit(data.X, _with_minus_one(data, rows))
    return float(model.score(data.X_test, data.y_test))


def _label_spreading(data: DataSet, rows: NDArray[np.int64]) -> float:
    """Label spreading over the seven nearest neighbors, the test rows as further rows without a label."""
    from sklearn.semi_supervised import LabelSpreading

    assert data.numbers is not None
    both = _stacked(data.X, data.X_test)
    y = np.concatenate([_with_minus_one(data, rows), np.full(data.y_test.size, -1)])
    model = LabelSpreading(kernel="knn", n_neighbors=7).fit(data.numbers(both), y)
    return float(np.mean(model.transduction_[data.y.size :] == data.y_test))


def _stacked(X: Any, X_test: Any) -> Any:
    if hasattr(X, "tocsr"):
        from scipy.sparse import vstack

        return vstack([X, X_test]).tocsr()
    return np.concatenate([X, X_test])
