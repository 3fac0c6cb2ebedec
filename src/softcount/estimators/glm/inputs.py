"""What the user gave to a linear model, checked: table, target, weights, offset. Errors name row and column."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from softcount._errors import InputError
from softcount._types import FloatArray, Table
from softcount.core.column_moments import centering, column_means
from softcount.core.execute import Executor
from softcount.core.glm.families import GLMFamily
from softcount.core.glm.inference import RowWeights
from softcount.core.glm.links import Link
from softcount.core.glm.model import GLMData
from softcount.core.normal_equations import Design
from softcount.estimators._tables import with_place, without_na
from softcount.inputs.weights import read_weights

#: The squared number of columns has to fit into memory a few times: 3 GB each at this width.
MOST_COLUMNS = 20_000
#: Sums of squares of larger cells are no numbers.
LARGEST_CELL = 1e151
NO_NUMBER = (
    "Linear models take numbers: make indicator columns of texts and categories, for example with "
    "sklearn.preprocessing.OneHotEncoder, or for a GLM by a formula with C(column)."
)

__all__ = [
    "check_columns",
    "check_finite",
    "check_size",
    "check_width",
    "column_names",
    "column_sizes",
    "read_data",
    "read_offset",
    "read_table",
    "read_target",
]


def read_table(estimator: Any, X: Any, *, reset: bool, fewest_columns: int = 1) -> Table:
    """X as float64 or float32, dense or CSR; finiteness is checked by :func:`check_finite`."""
    shape = getattr(X, "shape", ())
    if not fewest_columns and shape[1:] == (0,):
        X = np.empty(shape)

    def check(table: Any) -> Table:
        checked = validate_data(
            estimator,
            table,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_features=fewest_columns,
        )
        return cast("Table", checked)

    try:
        return check(X)
    except TypeError as error:
        if "NAType" not in str(error):
            raise with_place(error, X, estimator, NO_NUMBER) from None
        return check(without_na(X))
    except ValueError as error:
        raise with_place(error, X, estimator, NO_NUMBER) from None


def check_width(n_columns: int, reason: str, way_out: str) -> None:
    """Refuse a table too wide for a matrix of its columns, where ``reason`` needs one."""
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"X has {n_columns} columns. {reason} needs a matrix of as many rows and columns, which is formed for at "
            f"most {MOST_COLUMNS}. {way_out}"
        )


def check_finite(table: Table, names: list[str]) -> None:
    """Refuse cells that are missing or infinite, naming the first."""
    if sp.issparse(table):
        values = cast("Any", table).data
        with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said below
            total = values.sum()
        if np.isfinite(total):
            return
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size == 0:
            return
        first = int(wrong[0])
        row = int(np.searchsorted(cast("Any", table).indptr, first, side="right")) - 1
        column, value = int(cast("Any", table).indices[first]), float(values[first])
    else:
        array = np.asarray(table)
        found = next(
            (
                (start + int(r), int(c))
                for start in range(0, array.shape[0], 4096)
                for r, c in np.argwhere(~np.isfinite(array[start : start + 4096]))[:1]
            ),
            None,
        )
        if found is None:
            return
        row, column = found
        value = float(array[row, column])
    raise InputError(
        f"Input X contains {_what(value)}: row {row}, column {names[column]!r}. Linear models need every cell; "
        "drop the row, or fill the cell, for example with sklearn.impute."
    )


def check_size(name: str, values: FloatArray, *, smallest: float, largest: float) -> None:
    """Refuse numbers so large, or all so small, that what is made of them is no number any more, or zero."""
    size = float(np.max(np.abs(values), initial=0.0))
    if size > largest or 0.0 < size < smallest:
        beyond = f"above {largest:.0e}" if size > largest else f"that are all below {smallest:.0e}"
        raise InputError(
            f"{name} holds values up to {size:.3g} in size, and the products of numbers {beyond} leave the range of "
            f"floating point. Change the unit, for example divide by {size:.3g}."
        )


def check_columns(table: Table, names: list[str], largest: float) -> None:
    """Refuse columns of numbers beyond ``largest``, after one look at the largest of all."""
    values: Any = table.data if sp.issparse(table) else table
    # Two numbers tell that no column needs a closer look.
    if max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) <= largest:
        return
    for name, size in zip(names, column_sizes(table), strict=True):
        check_size(f"Column {name!r} of X", size, smallest=0.0, largest=largest)


def column_sizes(table: Table) -> FloatArray:
    """Largest absolute value of every column."""
    both: list[Any] = [cast("Any", table).max(axis=0), cast("Any", table).min(axis=0)]
    highest, lowest = (np.asarray(one.toarray().ravel() if sp.issparse(table) else one) for one in both)
    sizes: FloatArray = np.maximum(highest, -lowest).astype(np.float64)
    return sizes


def column_names(estimator: Any) -> list[str]:
    """The names of the columns of X: those of the data frame it was, or x0, x1, ..."""
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    return [f"x{j}" for j in range(estimator.n_features_in_)]


def read_target(family: GLMFamily, y: Any, n_rows: int) -> tuple[FloatArray, FloatArray | None]:
    """The observations, and the numbers of trials where two columns of counts were given."""
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    try:
        values = np.asarray(y, dtype=np.float64)
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


@dataclass(frozen=True)
class ReadData:
    """Rows ready for a fit, and their weights apart."""

    data: GLMData
    weights: RowWeights


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
) -> ReadData:
    """Targets and weights checked against the family, the table checked and centered where that pays."""
    n_rows = table.shape[0]
    target, trials = read_target(family, y, n_rows)
    precision = read_weights(sample_weight, n_rows)
    frequency = read_weights(frequency_weight, n_rows, "frequency_weight")
    # Without trials the precision weight itself divides the dispersion; with trials it counts likelihoods.
    weights = RowWeights(frequency, precision) if trials is None else RowWeights(frequency, trials, precision)
    total = weights.total()
    used = np.ones(n_rows, dtype=np.bool_) if total is None else total > 0.0
    if not used.any():
        raise InputError("All weights are zero: there is no row to fit to.")
    wrong = used & ~family.contains_target(target)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"y of row {row} is {float(target[row])!r}, which the {family.name} family cannot produce; expected "
            f"{family.target_domain}."
        )
    check_size("y", target[used], smallest=1.0 / family.largest_size, largest=family.largest_size)
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
    return ReadData(GLMData(design, target, total, offset), weights)


def _read_vector(name: str, value: Any, n_rows: int) -> FloatArray | None:
    if value is None:
        return None
    try:
        vector = np.asarray(value, dtype=np.float64)
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
            f"Input {name} contains {_what(float(values[row]))}: row {row}. Drop the row; it is never dropped silently."
        )


def _what(value: float) -> str:
    return "NaN" if math.isnan(value) else "infinity"
