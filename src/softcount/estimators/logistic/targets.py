"""The labels of a logistic regression: hard, soft, or filled in by a generative model where they are missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.inputs.label_codes import narrow_range, narrow_unique
from softcount.inputs.labels import Labels, read_labels
from softcount.inputs.masked import unmasked_labels

__all__ = ["Targets", "fitted_generative", "read_targets", "with_class_weight", "without_empty_classes"]


@dataclass(frozen=True)
class Targets:
    """What the labels say about every row.

    Attributes
    ----------
    classes : array of shape (n_classes,)
        Names, in order.
    values : array
        Codes of shape (n_samples,), or probabilities of shape (n_samples, n_classes).
    """

    classes: NDArray[Any]
    values: NDArray[Any]

    @property
    def is_soft(self) -> bool:
        """Whether some label is a row of probabilities."""
        return self.values.ndim == 2

    def class_weights(self, weight: FloatArray | None) -> FloatArray:
        """Total weight of every class."""
        if self.is_soft:
            total: FloatArray = self.values.sum(axis=0) if weight is None else weight @ self.values
            return total
        return np.bincount(self.values, weight, minlength=self.classes.size).astype(np.float64)

    def for_fit(self) -> NDArray[Any]:
        """As :class:`softcount.core.logistic.data.LogisticData` takes them."""
        if self.classes.size > 2:
            return self.values
        return np.ascontiguousarray(self.values[:, 1]) if self.is_soft else self.values.astype(np.float64)


def read_targets(
    y: Any,
    X: Any,
    sample_weight: Any,
    *,
    n_rows: int,
    classes: Any = None,
    missing_label: Any = math.nan,
    from_generative: Any = None,
) -> Targets:
    """Read ``y``: labels of any type, a matrix of class probabilities, or labels with gaps that a model can fill.

    ``X`` is the user's own: only the generative model looks at it.
    """
    y = unmasked_labels(y)
    quick = None if classes is not None or not _is_nan(missing_label) else _counted(y, n_rows)
    if quick is not None:
        return quick
    labels, names = read_labels(y, n_rows, classes=classes, missing_label=missing_label, estimator="LogisticRegression")
    if labels.all_known() and labels.factors is None:
        return Targets(names, labels.codes)
    open_rows = np.flatnonzero(labels.codes < 0)
    unknown = np.flatnonzero(labels.is_unlabeled())
    if labels.fixed and unknown.size == 0:
        return Targets(names, _probabilities(labels))
    if from_generative is None:
        row = int((unknown if unknown.size else open_rows)[0])
        raise InputError(
            f"Input y contains NaN or another mark of a missing label, or a set of candidates, in {open_rows.size} of "
            f"{n_rows} rows (the first is row {row}). Logistic regression describes y given X, so a row without a "
            "label tells it nothing: leave such rows out, give a row of class probabilities instead, or pass "
            "from_generative= an estimator such as softcount.GaussianNB() whose posterior fills them in."
        )
    generative = fitted_generative(from_generative, X, y, sample_weight, missing_label)
    shares = _probabilities(labels)
    shares[open_rows] = _posterior(generative, X, names, labels)[open_rows]
    return Targets(names, shares)


def fitted_generative(generative: Any, X: Any, y: Any, sample_weight: Any, missing_label: Any) -> Any:
    """The model that fills in labels: the one given, or a copy fitted to all rows; None where there is none."""
    if generative is None:
        return None
    try:
        check_is_fitted(generative)
    except NotFittedError:
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        generative = clone(generative)
        if not _is_nan(missing_label) and "missing_label" in generative.get_params(deep=False):
            generative.set_params(missing_label=missing_label)
        generative.fit(X, y, **given)
    return generative


def without_empty_classes(targets: Targets, weight: FloatArray | None, *, were_named: bool) -> Targets:
    """Classes that no row with a weight belongs to are absent, as those rows are."""
    total = targets.class_weights(weight)
    present = np.flatnonzero(total > 0.0)
    if were_named and present.size < targets.classes.size:
        absent = targets.classes[total <= 0.0].tolist()
        raise InputError(
            f"No row with a weight belongs to the class(es) {absent} named in classes=: the intercept of such a class "
            "is minus infinity. Leave it out of classes=, or give it a row."
        )
    if present.size < 2:
        found = targets.classes[present].tolist()
        raise InputError(
            f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{found[0]!r}."
            if found
            else "All sample weights are zero: there is no row to fit to."
        )
    if present.size == targets.classes.size:
        return targets
    if targets.is_soft:
        return Targets(targets.classes[present], np.ascontiguousarray(targets.values[:, present]))
    codes = np.zeros(targets.classes.size, dtype=np.int32)
    codes[present] = np.arange(present.size)
    return Targets(targets.classes[present], codes[targets.values])


def with_class_weight(
    targets: Targets, weight: FloatArray | None, class_weight: Any
) -> tuple[Targets, FloatArray | None]:
    """Multiply every row by the weight of its class; a soft row counts for each class apart."""
    if class_weight is None:
        return targets, weight
    if class_weight == "balanced":
        total = targets.class_weights(weight)
        factors = total.sum() / (total.size * total)
    else:
        known = targets.classes.tolist()
        strange = [name for name in class_weight if name not in known]
        if strange:
            raise InputError(f"class_weight names the classes {strange}, which y does not hold; it holds {known}.")
        factors = np.array([class_weight.get(name, 1.0) for name in known], dtype=np.float64)
    wrong = ~(np.isfinite(factors) & (factors >= 0.0))
    if wrong.any():
        name, factor = targets.classes[wrong].tolist()[0], float(factors[wrong][0])
        raise InputError(f"class_weight of class {name!r} is {factor!r}; weights are finite and 0 or more.")
    if not targets.is_soft:
        own = factors[targets.values]
        return targets, own if weight is None else weight * own
    shares = targets.values * factors
    total = shares.sum(axis=1)
    shares = np.divide(shares, total[:, None], out=targets.values.copy(), where=total[:, None] > 0.0)
    return Targets(targets.classes, shares), total if weight is None else weight * total


def _counted(y: Any, n_rows: int) -> Targets | None:
    """Whole-number labels without sorting them, where they span little."""
    if not isinstance(y, np.ndarray) or y.shape != (n_rows,):
        return None
    numbers = y.view(np.uint8) if y.dtype.kind == "b" else y
    span = narrow_range(numbers)
    if span is None:
        return None
    found, codes = narrow_unique(numbers, *span)
    return Targets(found.astype(y.dtype), codes)


def _probabilities(labels: Labels) -> FloatArray:
    """One row of probabilities per row; zeros where only another model could tell."""
    shares = np.zeros((labels.n_rows, labels.n_classes))
    known = np.flatnonzero(labels.codes >= 0)
    shares[known, labels.codes[known]] = 1.0
    if labels.fixed and labels.factors is not None and labels.factor_row is not None:
        soft = np.flatnonzero(labels.factor_row >= 0)
        rows = labels.factors[labels.factor_row[soft]]
        # Probabilities written with six digits sum to one all the same.
        shares[soft] = rows / rows.sum(axis=1, keepdims=True)
    return shares


def _posterior(generative: Any, X: Any, names: NDArray[Any], labels: Labels) -> FloatArray:
    """The generative model's posterior for every row, within the candidates where there are any."""
    posterior = np.asarray(generative.predict_proba(X), dtype=np.float64)
    theirs = np.asarray(generative.classes_).tolist()
    missing = [name for name in names.tolist() if name not in theirs]
    if missing or len(theirs) != names.size:
        raise InputError(
            f"from_generative= knows the classes {theirs}, but y holds {names.tolist()}; fit it to the same labels."
        )
    posterior = posterior[:, [theirs.index(name) for name in names.tolist()]]
    if labels.factors is not None and labels.factor_row is not None and not labels.fixed:
        rows = np.flatnonzero(labels.factor_row >= 0)
        posterior[rows] *= labels.factors[labels.factor_row[rows]] > 0.0
        total = posterior[rows].sum(axis=1, keepdims=True)
        even = labels.factors[labels.factor_row[rows]]
        posterior[rows] = np.where(
            total > 0.0, posterior[rows] / np.where(total > 0.0, total, 1.0), even / even.sum(axis=1, keepdims=True)
        )
    return posterior


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
