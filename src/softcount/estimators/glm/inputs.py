"""What the user gave to a linear model, checked: table, target, weights, offset. Errors name row and column."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray, Table
from softcount.core.column_moments import centering, column_means
from softcount.core.execute import Executor
from softcount.core.glm.data import GLMData, RowWeights
from softcount.core.glm.families import GLMFamily
from softcount.core.glm.inference import COVARIANCES
from softcount.core.glm.links import Link
from softcount.core.normal_equations import Design
from softcount.estimators._linear_table import check_columns, check_finite, check_size, what_it_is
from softcount.inputs.masked import unmasked
from softcount.inputs.weights import read_weights

__all__ = [
    "check_parameters",
    "check_target",
    "read_data",
    "read_offset",
    "read_target",
    "row_weights",
]

#: Sums of squares of larger cells are no numbers.
LARGEST_CELL = 1e151


def read_target(family: GLMFamily, y: Any, n_rows: int) -> tuple[FloatArray, FloatArray | None]:
    """The observations, and the numbers of trials where two columns of counts were given."""
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    try:
        values = np.asarray(unmasked(y), dtype=np.float64)
    except (TypeError, ValueError) as error:
        way_out = " For classes by name use LogisticRegression, or give 0 and 1." if family.name == "binomial" else ""
        raise InputError(f"y cannot be read as numbers: {error}. This model needs a numeric target.{way_out}") from None
    trials = None
    if values.ndim == 2 and values.shape[1] == 2 and "binomial" in family.name and "neg" not in family.name:
        _check_finite_vector("y", values.sum(axis=1))
        if (values < 0.0).any():
            row = int(np.flatnonzero((values < 0.0).any(axis=1))[0])
            raise InputError(f"y of row {row} is {values[row].tolist()}: successes and failures are 0 or more.")
        trials = values.sum(axis=1)
        values = np.divide(values[:, 0], trials, out=np.zeros(trials.shape), where=trials > 0.0)
    else:
        values = np.asarray(column_or_1d(values, warn=True), dtype=np.float64)
    check_consistent_length(np.empty(n_rows), values)
    _check_finite_vector("y", values)
    return values, trials


def read_offset(link: Link, offset: Any, exposure: Any, n_rows: int, *, positive: bool = True) -> FloatArray | None:
    """Offset plus log exposure, or None."""
    total = _read_vector("offset", offset, n_rows)
    exposed = _read_vector("exposure", exposure, n_rows)
    if exposed is None:
        return total
    if link.name != "log":
        raise InputError(
            f"exposure multiplies the mean only with link 'log', and the link is {link.name!r}. Use offset, which is "
            "added to the linear predictor."
        )
    if positive and not (exposed > 0.0).all():
        row = int(np.flatnonzero(exposed <= 0.0)[0])
        raise InputError(
            f"exposure of row {row} is {exposed[row]!r}; expected positive numbers. Leave out rows that were never "
            "exposed."
        )
    log_exposure: FloatArray = np.log(exposed)
    return log_exposure if total is None else total + log_exposure


def row_weights(frequency: FloatArray | None, precision: FloatArray | None, trials: FloatArray | None) -> RowWeights:
    """The factors of the rows' weights."""
    # Without trials the precision weight itself divides the dispersion; with trials it counts likelihoods.
    return RowWeights(frequency, precision) if trials is None else RowWeights(frequency, trials, precision)


def read_data(
    table: Table,
    names: list[str],
    y: Any,
    *,
    family: GLMFamily,
    fit_intercept: bool,
    executor: Executor,
    sample_weight: Any = None,
    frequency_weight: Any = None,
    offset: FloatArray | None = None,
) -> GLMData:
    """Targets and weights checked against the family, the table checked and centered where that pays."""
    n_rows = table.shape[0]
    target, trials = read_target(family, y, n_rows)
    precision = read_weights(sample_weight, n_rows)
    frequency = read_weights(frequency_weight, n_rows, "frequency_weight")
    weights = row_weights(frequency, precision, trials)
    total = weights.total()
    used = np.ones(n_rows, dtype=np.bool_) if total is None else total > 0.0
    if not used.any():
        raise InputError("All weights are zero: there is no row to fit to.")
    check_target(family, target, used, smallest=1.0 / family.largest_size)
    if not used.all():
        # A row without weight takes no part; its target only has to be computable.
        target = np.where(used, target, np.average(target[used]))
    design = Design(table, fit_intercept)
    if design.is_sparse:
        check_finite(table, names)
        check_columns(table, names, LARGEST_CELL)
    else:
        means = column_means(design, executor)
        if not np.isfinite(means).all():
            check_finite(table, names)
        # A huge cell shows in the mean, wherever it is.
        if not n_rows * float(np.abs(means).max(initial=0.0)) <= LARGEST_CELL:
            check_columns(table, names, LARGEST_CELL)
        design = replace(design, center=centering(design, means))
    return GLMData(design, target, total, offset, weights)


def check_target(family: GLMFamily, target: FloatArray, used: BoolArray | None, *, smallest: float = 0.0) -> None:
    """Refuse targets that the family cannot produce, in rows that are used, or whose squares are no numbers.

    ``smallest`` is a size that not all of them may be below; a batch of rows may.
    """
    wrong = ~family.contains_target(target) & (True if used is None else used)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"y of row {row} is {float(target[row])!r}, which the {family.name} family cannot produce; expected "
            f"{family.target_domain}."
        )
    counted = target if used is None else target[used]
    check_size("y", counted, smallest=smallest, largest=family.largest_size)


def check_parameters(estimator: Any) -> None:
    """Refuse parameters no generalized linear model can have."""
    alpha, l1_ratio, theta = estimator.alpha, estimator.l1_ratio, estimator.theta
    checks: list[tuple[str, bool, str]] = [
        ("alpha", 0.0 <= alpha < math.inf, "a penalty of 0 or more"),
        ("l1_ratio", 0.0 <= l1_ratio <= 1.0, "a number between 0 and 1"),
        ("theta", theta is None or 0.0 < theta < math.inf, "a positive number, or None"),
        ("covariance", estimator.covariance in COVARIANCES, " or ".join(map(repr, COVARIANCES))),
        ("inference", estimator.inference in (True, False, "auto"), "True, False or 'auto'"),
        ("max_iter", estimator.max_iter >= 1, "1 or more"),
        ("tol", estimator.tol >= 0.0, "0 or more"),
        ("dispersion", _is_dispersion(estimator.dispersion), "'pearson', 'deviance', a positive number, or None"),
    ]
    for name, is_right, expected in checks:
        if not is_right:
            raise InputError(
                f"{name}={getattr(estimator, name)!r} for {type(estimator).__name__}; expected {expected}."
            )


def _is_dispersion(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value in (None, "pearson", "deviance")
    return bool(0.0 < value < math.inf)


def _read_vector(name: str, value: Any, n_rows: int) -> FloatArray | None:
    if value is None:
        return None
    try:
        vector = np.asarray(unmasked(value), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as numbers: {error}.") from None
    if vector.ndim == 0:
        vector = np.full(n_rows, float(vector))
    if vector.shape != (n_rows,):
        raise InputError(f"{name}.shape == {vector.shape}, expected {(n_rows,)}: one number per row of X.")
    _check_finite_vector(name, vector)
    return vector


def _check_finite_vector(name: str, values: FloatArray) -> None:
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"Input {name} contains {what_it_is(float(values[row]))}: row {row}. Drop the row; it is never dropped "
            "silently."
        )
