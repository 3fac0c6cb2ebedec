"""What the user gave to a logistic regression, read and checked: parameters, table, weights, offsets, start."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray, Table
from softcount.core.column_moments import SAMPLE_ROWS, centering, column_means
from softcount.core.execute import Executor
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.penalty import LogisticPenalty
from softcount.core.logistic.start import null_coef
from softcount.core.normal_equations import Design
from softcount.estimators._linear_table import check_finite
from softcount.estimators.logistic.targets import Targets
from softcount.inputs.masked import unmasked

__all__ = [
    "Strength",
    "check_number",
    "check_whole",
    "make_data",
    "make_penalty",
    "read_design",
    "read_offsets",
    "read_solver",
    "read_start",
    "read_strength",
]

SOLVERS = ("auto", "newton", "irls", "lbfgs", "gradient", "newton-cg")
#: scikit-learn's name for the same method.
ALIASES = {"newton-cholesky": "newton"}
#: A mean this many standard deviations from zero: products are corrected too late, columns have to be shifted first.
CAREFUL = 1e3
#: Columns of values beyond these are rescaled: the squares would leave the range of floating point.
LARGEST_VALUE = 1e100
SMALLEST_VALUE = 1e-100


@dataclass(frozen=True)
class Strength:
    """The penalty: ``strength`` in all (``1 / C``), of which ``l1_ratio`` on absolute values."""

    strength: float
    l1_ratio: float

    @property
    def chooses(self) -> bool:
        """Whether the penalty sets coefficients to zero."""
        return self.strength * self.l1_ratio > 0.0

    def in_words(self) -> str:
        """Its kind and its strength."""
        if self.strength == 0.0:
            return "none"
        kind = "L2" if self.l1_ratio == 0.0 else "L1" if self.l1_ratio == 1.0 else f"l1_ratio={self.l1_ratio:g}"
        return f"{kind}, C={1.0 / self.strength:g}"


def read_solver(name: Any) -> str:
    """The name of a solver, or an error that says which to use."""
    name = ALIASES.get(name, name)
    if name not in SOLVERS:
        hint = " (scikit-learn's; here every solver reaches the same optimum)" if name in ("saga", "sag") else ""
        if name == "liblinear":
            hint = " (it penalizes the intercept, which is another model)"
        raise InputError(f"solver is {name!r}{hint}; choose one of {', '.join(map(repr, SOLVERS))}.")
    return str(name)


def read_strength(penalty: Any, C: Any, l1_ratio: Any) -> Strength:
    """``penalty``, ``C`` and ``l1_ratio`` as scikit-learn 1.8 and later read them."""
    check_number("C", C, low=0.0, above_low=True, high=math.inf)
    if l1_ratio is not None:
        check_number("l1_ratio", l1_ratio, low=0.0, high=1.0)
    ratio = 0.0 if l1_ratio is None else float(l1_ratio)
    if isinstance(penalty, str) and penalty == "deprecated":
        return Strength(0.0 if math.isinf(C) else 1.0 / float(C), ratio)
    if penalty not in (None, "l1", "l2", "elasticnet"):
        raise InputError(
            f"penalty is {penalty!r}; leave it out and use l1_ratio (0 for L2, 1 for L1) and C (np.inf for none)."
        )
    warnings.warn(
        "'penalty' is deprecated, as in scikit-learn 1.8: use l1_ratio=0 instead of penalty='l2', l1_ratio=1 instead "
        "of 'l1', l1_ratio between 0 and 1 instead of 'elasticnet', and C=np.inf instead of penalty=None.",
        FutureWarning,
        stacklevel=3,
    )
    if penalty is None:
        return Strength(0.0, 0.0)
    if penalty == "elasticnet":
        if l1_ratio is None:
            raise InputError("l1_ratio must be specified when penalty is 'elasticnet'.")
        return Strength(1.0 / float(C), ratio)
    wanted = 1.0 if penalty == "l1" else 0.0
    if l1_ratio is not None and ratio not in (0.0, wanted):
        raise InputError(f"penalty={penalty!r} contradicts l1_ratio={l1_ratio!r}; leave penalty out.")
    return Strength(1.0 / float(C), wanted)


def check_number(name: str, value: Any, *, low: float, high: float, above_low: bool = False) -> None:
    """Refuse a parameter outside its range."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not (low < value if above_low else low <= value) or not value <= high:
        edge = "above" if above_low else "at least"
        upper = "" if math.isinf(high) else f" and at most {high:g}"
        raise InputError(f"{name} is {value!r}; expected a number {edge} {low:g}{upper}.")


def check_whole(name: str, value: Any, *, low: int) -> None:
    """Refuse a parameter that is not a whole number."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise InputError(f"{name} is {value!r}; expected a whole number of at least {low}.")


def read_offsets(offset: Any, n_rows: int, n_classes: int) -> FloatArray | None:
    """Offsets: one for all rows or one per row for two classes, one per row and class for more."""
    if offset is None:
        return None
    try:
        values = np.asarray(unmasked(offset), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"offset cannot be read as numbers: {error}.") from None
    expected = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    if values.ndim == 0 and n_classes == 2:
        values = np.full(n_rows, float(values))
    if values.shape != expected:
        raise InputError(
            f"offset.shape == {values.shape}, expected {expected}: one number per row"
            f"{'' if n_classes == 2 else ' and class'}, on the scale of the linear predictor."
        )
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise InputError(f"offset of row {row} is not finite; offsets are added to the linear predictor.")
    return values


def read_design(
    table: Table, names: list[str], executor: Executor, *, fit_intercept: bool, always: bool
) -> tuple[Design, bool, FloatArray | None]:
    """The columns after a look at every cell: shifted where that pays, rescaled where squares would be no numbers.

    Returns
    -------
    design : Design
    careful : bool
        Whether products have to shift the columns first.
    scale : array of shape (n_features,) or None
        What the columns were divided by.
    """
    means = None if sp.issparse(table) else column_means(Design(table, fit_intercept), executor)
    if means is None or not np.isfinite(means).all():
        check_finite(table, names)
    table, scale = _scaled_table(table, means)
    design = Design(table, fit_intercept)
    if means is None:
        return design, False, scale
    if scale is not None:
        means = column_means(design, executor)
    center = means if always and fit_intercept else centering(design, means)
    if center is None:
        return design, False, scale
    deviation = np.std(_sample(table), axis=0, dtype=np.float64)
    careful = bool(np.any(np.abs(means) > CAREFUL * deviation))
    return replace(design, center=center), careful, scale


def _scaled_table(table: Table, means: FloatArray | None) -> tuple[Table, FloatArray | None]:
    """The table, and column scales where values are so large or small that their squares would over- or underflow.

    A mean gives away a huge value wherever it is; that all are tiny shows in some of the rows.
    """
    largest = np.abs(_sample(table)).max(axis=0, initial=0.0)
    if means is None:
        stored = cast("Any", table).data
        anywhere = max(float(stored.max(initial=0.0)), -float(stored.min(initial=0.0)))
    else:
        anywhere = float(table.shape[0]) * float(np.abs(means).max(initial=0.0))
    if not (anywhere > LARGEST_VALUE or np.isnan(anywhere) or _is_extreme(largest).any()):
        return table, None
    whole: Any = abs(cast("Any", table)).max(axis=0)
    largest = np.asarray(whole.toarray() if sp.issparse(table) else whole, dtype=np.float64).ravel()
    # Powers of two, so that nothing is rounded.
    power = np.floor(np.log2(np.where(largest > 0.0, largest, 1.0)))
    scale = np.where(_is_extreme(largest), np.exp2(power), 1.0)
    if sp.issparse(table):
        columns: Any = cast("Any", table).astype(np.float64)
        columns.data = columns.data / scale[columns.indices]
        return columns, scale
    return np.asarray(table, dtype=np.float64) / scale, scale


def _is_extreme(largest: FloatArray) -> BoolArray:
    return np.asarray((largest > LARGEST_VALUE) | ((largest > 0.0) & (largest < SMALLEST_VALUE)))


def make_data(
    design: Design,
    targets: Targets,
    weight: FloatArray | None,
    offset: FloatArray | None,
    strength: Strength,
    *,
    careful: bool,
) -> LogisticData:
    """Rows for the fit: differences from the last class, unless absolute values forbid it."""
    reference = strength.strength * strength.l1_ratio == 0.0
    return LogisticData(design, targets.for_fit(), targets.classes.size, weight, offset, reference, careful)


def make_penalty(data: LogisticData, strength: Strength, scale: FloatArray | None) -> LogisticPenalty:
    """The penalty of the columns as they are, whatever they were scaled by."""
    n_features = data.n_columns - int(data.design.fit_intercept)
    l2 = np.full(n_features, strength.strength * (1.0 - strength.l1_ratio))
    l1 = np.full(n_features, strength.strength * strength.l1_ratio)
    if scale is not None:
        with np.errstate(over="ignore", under="ignore"):
            l1 = np.minimum(l1 / scale, LARGEST_VALUE)
            l2 = np.minimum(l2 / scale / scale, LARGEST_VALUE)
    return LogisticPenalty.of(
        l1, l2, fit_intercept=data.design.fit_intercept, n_outputs=data.n_outputs, reference=not _has_own(data)
    )


def read_start(init: Any, data: LogisticData, scale: FloatArray | None) -> FloatArray | None:
    """Starting coefficients of the outputs, of the shifted columns, from coefficients per class as users see them."""
    if init is None:
        return None
    coef, intercept = _linear_form(init)
    n_features = data.n_columns - int(data.design.fit_intercept)
    rows = 1 if data.is_binary else data.n_classes
    if coef.shape == (2, n_features) and data.is_binary and intercept.shape == (2,):
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    if coef.shape != (rows, n_features) or intercept.shape != (rows,):
        raise InputError(
            f"init gives coefficients of shape {coef.shape} and intercepts of shape {intercept.shape}; expected "
            f"{(rows, n_features)} and {(rows,)} for {data.n_classes} classes and {n_features} columns."
        )
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        return null_coef(data)  # a generative model may be certain; a start cannot be
    if scale is not None:
        coef = coef * scale
    if data.design.fit_intercept:
        coef = np.column_stack([intercept, coef])
    if not _has_own(data) and not data.is_binary:
        coef = coef[:-1] - coef[-1:]
    return data.design.centered(coef)


def _linear_form(init: Any) -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts of whatever has them."""
    if hasattr(init, "to_linear"):
        init = init.to_linear()
    if isinstance(init, tuple) and len(init) == 2:
        coef, intercept = init
    else:
        for names in (("coef_", "intercept_"), ("coef", "intercept")):
            if all(hasattr(init, name) for name in names):
                coef, intercept = (getattr(init, name) for name in names)
                break
        else:
            raise InputError(
                f"init is {init!r}; give a fitted linear model, a generative one with to_linear(), or a pair of "
                "coefficients and intercepts."
            )
    if sp.issparse(coef):
        coef = cast("Any", coef).toarray()
    return np.atleast_2d(np.asarray(coef, dtype=np.float64)), np.atleast_1d(np.asarray(intercept, dtype=np.float64))


def _has_own(data: LogisticData) -> bool:
    """Whether every one of several classes has coefficients of its own."""
    return not data.is_binary and not data.reference


def _sample(table: Table) -> FloatArray:
    """Evenly spaced rows."""
    step = max(1, table.shape[0] // SAMPLE_ROWS)
    part: Any = cast("Any", table)[::step]
    if sp.issparse(table):
        return np.atleast_2d(np.asarray(abs(part).max(axis=0).toarray(), dtype=np.float64))
    return np.asarray(part, dtype=np.float64)
