r"""Separation: when a combination of columns sorts the classes without error, the likelihood has no maximum.

The data are separated when there is a direction :math:`\delta \ne 0` with

.. math:: x_i^\top (\delta_{y_i} - \delta_k) \ge 0 \quad\text{for all rows } i \text{ and classes } k,
          \qquad\text{and} > 0 \text{ for some}

(Albert and Anderson 1984): along it the likelihood rises for ever. Whether there is one is a linear program (Konis
2007); minimizing :math:`\sum_j s_j |\delta_j|`, with :math:`s_j` the columns' standard deviations, under a fixed sum of
the left-hand sides finds one that uses few columns, and those that can be spared are left out one by one, for that is
what a user wants to be told. The program starts with some rows and adds those that its answer violates, so it stays
small however many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog

from softcount._types import BoolArray, FloatArray, IntArray
from softcount.core.execute import Executor
from softcount.core.linear_chunks import SERIAL, Largest
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.products import products_of
from softcount.families.statistics import Sums

__all__ = ["Separation", "find_separation", "largest_spread"]

#: Directions of more coefficients than this are not searched for; the fitted one is tried alone.
MOST_COEFFICIENTS = 3000
FIRST_ROWS = 600
MORE_ROWS = 400
MOST_ROUNDS = 40
# Up to this many columns of a separation are tried without.
MOST_SPARED = 30
# Margins this small, in units where the average margin is 1, are zero.
MARGIN_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Separation:
    """A direction along which the likelihood rises for ever.

    Attributes
    ----------
    direction : array of shape (n_outputs, n_columns)
        For the shifted columns; the average margin is 1.
    columns : array of int
        Columns of the design, without the intercept, that take part.
    complete : bool
        Whether the fit had every row strictly on its own side; otherwise some lie on the boundary.
    """

    direction: FloatArray
    columns: IntArray
    complete: bool


def largest_spread(data: LogisticData, coef: FloatArray, executor: Executor) -> float:
    """The largest difference between the linear predictors of two classes in one row."""
    if data.is_distant:
        distant: Any = data
        found = distant.each(executor, lambda rows, _: Largest(largest_spread(rows, coef, SERIAL)))
        return float(found.value)
    spreads = np.zeros(data.n_samples)

    def measure(rows: slice) -> None:
        eta = _with_reference(data, products_of(data.design, coef, careful=data.careful).predictor(rows))
        spreads[rows] = eta.max(axis=0) - eta.min(axis=0)

    executor.each(measure, data.slices)
    if data.weight is not None:
        spreads = spreads[data.weight > 0.0]
    return float(spreads.max(initial=0.0))


def find_separation(
    data: LogisticData, coef: FloatArray, kept: BoolArray, deviation: FloatArray, executor: Executor
) -> Separation | None:
    """A separating direction of the kept columns, or None where there is none.

    Parameters
    ----------
    data : LogisticData
        The rows.
    coef : array of shape (n_outputs, n_columns)
        The fitted coefficients, whose direction is tried first.
    kept : bool array of shape (n_columns,)
        Columns that take part.
    deviation : array of shape (n_columns,)
        Standard deviations of the columns.
    executor : Executor
        Runs the passes.
    """
    search = _Search(data, kept, deviation, executor)
    if data.n_coefficients <= MOST_COEFFICIENTS:
        found = search.run(coef)
        return None if found is None else search.simplified(found, coef)
    found_lowest = search.lowest(coef, 1)
    average = found_lowest.total / data.n_samples
    if not (average > 0.0 and found_lowest.smallest > 0.0):
        return None
    reach = np.abs(coef).max(axis=0) * deviation
    reach[: int(data.design.fit_intercept)] = 0.0
    columns = np.argsort(-reach)[:5]
    return Separation(coef / average, columns, complete=True)


@dataclass(frozen=True)
class _Lowest:
    """The rows of the smallest margins, in the order of these.

    Attributes
    ----------
    rows, margins : arrays
        Positions, and margins.
    limit : int
        Most rows to keep.
    total : float
        Sum of the margins of all rows.
    """

    rows: IntArray
    margins: FloatArray
    limit: int
    total: float

    @property
    def smallest(self) -> float:
        """The smallest margin."""
        return float(self.margins[0])

    @classmethod
    def of(cls, margins: FloatArray, start: int, limit: int) -> _Lowest:
        """Those of all rows from position ``start`` on."""
        order = np.argsort(margins, kind="stable")[:limit]
        return cls(order + start, margins[order], limit, float(margins.sum()))

    def __add__(self, other: _Lowest) -> _Lowest:
        rows = np.concatenate([self.rows, other.rows])
        margins = np.concatenate([self.margins, other.margins])
        order = np.lexsort((rows, margins))[: self.limit]
        return _Lowest(rows[order], margins[order], self.limit, self.total + other.total)


@dataclass(frozen=True)
class _Search:
    data: LogisticData
    kept: BoolArray
    deviation: FloatArray
    executor: Executor

    def run(self, coef: FloatArray) -> Separation | None:
        """The linear program over a growing set of rows."""
        data = self.data
        total = self._total_margin()
        fitted = self.lowest(coef, FIRST_ROWS // 2)
        rows = self._first_rows(fitted)
        for _ in range(MOST_ROUNDS):
            direction = self._program(rows, total)
            if direction is None:
                return None
            worst = self.lowest(direction, MORE_ROWS)
            violated = worst.rows[worst.margins < -MARGIN_TOLERANCE]
            fresh = np.setdiff1d(violated, rows)
            if fresh.size == 0:
                reach = np.abs(direction).max(axis=0) * np.where(self.deviation > 0.0, self.deviation, 1.0)
                reach[: int(data.design.fit_intercept)] = 0.0
                columns = np.flatnonzero(reach > 1e-6 * reach.max(initial=0.0))
                # The program's answer touches rows; the fit, on its way to infinity, clears them if it can.
                return Separation(direction, columns, fitted.smallest > 0.0)
            rows = np.union1d(rows, fresh)
        return None

    def simplified(self, found: Separation, coef: FloatArray) -> Separation:
        """A separation by one column if there is one among those found, else by none that can be spared."""
        columns = found.columns
        if not 1 < columns.size <= MOST_SPARED:
            return found
        for column in columns:
            alone = self._with_columns(np.array([column])).run(coef)
            if alone is not None:
                return replace(alone, complete=found.complete)
        for column in columns:
            rest = self._with_columns(np.setdiff1d(found.columns, [column])).run(coef)
            found = found if rest is None else replace(rest, complete=found.complete)
        return found

    def _with_columns(self, columns: IntArray) -> _Search:
        kept = np.zeros_like(self.kept)
        kept[: int(self.data.design.fit_intercept)] = True
        kept[columns] = True
        return replace(self, kept=kept)

    def lowest(self, direction: FloatArray, limit: int) -> _Lowest:
        """The rows with the smallest left-hand sides, among those with a weight (of equalities: minus the largest)."""
        if self.data.is_distant:
            distant: Any = self.data

            def measure(rows: LogisticData, start: int) -> _Lowest:
                return _Lowest.of(_margins(rows, direction, SERIAL), start, limit)

            found: _Lowest = distant.each(self.executor, measure)
            return found
        return _Lowest.of(_margins(self.data, direction, self.executor), 0, limit)

    def _total_margin(self) -> FloatArray:
        """Sum over rows and other classes of ``x (e_own - e_other)``, divided by the number of rows."""
        data: Any = self.data
        if data.is_distant:
            found = data.each(self.executor, lambda rows, _: _pulled(rows, SERIAL))
        else:
            found = _pulled(data, self.executor)
        return np.asarray(found["total"] / data.n_samples)

    def _first_rows(self, fitted: _Lowest) -> IntArray:
        """Rows that the fitted coefficients put closest to the boundary, and some of all kinds."""
        n = self.data.n_samples
        return np.union1d(fitted.rows, np.linspace(0, n - 1, min(n, FIRST_ROWS // 2)).astype(np.int64))

    def _program(self, rows: IntArray, total: FloatArray) -> FloatArray | None:
        """The direction for the constraints of some rows, or None when there is none."""
        data = self.data
        usable = np.tile(self.kept, data.n_outputs)
        scale = np.where(self.deviation > 0.0, self.deviation, 1.0)
        cost = scale.copy()
        if data.design.fit_intercept:
            cost[0] = 1e-4  # the intercept explains nothing: let it be whatever it has to be
        at_least, equal = self._constraints(rows)
        wide = np.tile(scale, data.n_outputs)[usable]
        price = np.tile(cost / scale, data.n_outputs)[usable]
        at_least, equal = at_least[:, usable] / wide, equal[:, usable] / wide
        sums = (total.ravel()[usable] / wide)[None]
        found = linprog(
            np.concatenate([price, price]),
            A_ub=np.hstack([-at_least, at_least]) if len(at_least) else None,
            b_ub=np.zeros(len(at_least)) if len(at_least) else None,
            A_eq=np.vstack([np.hstack([sums, -sums]), np.hstack([equal, -equal])]),
            b_eq=np.concatenate([[1.0], np.zeros(len(equal))]),
            bounds=(0.0, None),
            method="highs",
        )
        if found.status != 0 or found.x is None:
            return None
        half = price.size
        direction = np.zeros(usable.size)
        direction[usable] = (found.x[:half] - found.x[half:]) / wide
        return direction.reshape(data.n_outputs, data.n_columns)

    def _constraints(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Left-hand sides that have to be at least, or exactly, zero; flattened over the outputs."""
        data: Any = self.data
        if data.is_distant:
            data, rows = data.taken(rows, self.executor), np.arange(rows.size)
        columns = _design_rows(data, rows)
        at_least: list[FloatArray] = []
        equal: list[FloatArray] = []
        weight = None if data.weight is None else data.weight[rows]
        share = _shares(data, rows)
        for i in range(rows.size):
            if weight is not None and weight[i] == 0.0:
                continue
            own = int(share[:, i].argmax())
            for other in range(data.n_classes):
                if other == own:
                    continue
                pull = np.zeros((data.n_classes, 1))
                pull[own], pull[other] = 1.0, -1.0
                side = np.outer(_outputs(data, pull)[:, 0], columns[i]).ravel()
                (equal if share[other, i] > 0.0 else at_least).append(side)
        size = data.n_coefficients
        return np.array(at_least).reshape(-1, size), np.array(equal).reshape(-1, size)


def _margins(data: LogisticData, direction: FloatArray, executor: Executor) -> FloatArray:
    """Smallest left-hand side of every row; infinite where it has no weight."""
    answer = np.empty(data.n_samples)

    def measure(rows: slice) -> None:
        eta = _with_reference(data, products_of(data.design, direction, careful=data.careful).predictor(rows))
        share = _shares(data, rows)
        # For a hard label this is eta of the label less the largest other; a soft one has to leave its classes level.
        own = np.where(share > 0.0, eta, np.inf).min(axis=0)
        highest = np.where(share > 0.0, eta, -np.inf).max(axis=0)
        other = np.where(share > 0.0, -np.inf, eta).max(axis=0)
        mixed = (share > 0.0).sum(axis=0) > 1
        margin = np.where(mixed, np.minimum(own - highest, np.where(np.isfinite(other), own - other, 0.0)), 0.0)
        answer[rows] = np.where(mixed, np.minimum(margin, 0.0), own - other)

    executor.each(measure, data.slices)
    if data.weight is not None:
        answer[data.weight == 0.0] = np.inf
    return answer


def _pulled(data: LogisticData, executor: Executor) -> Sums:
    """Sum over rows with a weight and one class, and over the other classes, of ``x (e_own - e_other)``."""

    def tally(lane: Sequence[slice]) -> Sums:
        products = products_of(data.design, np.zeros((data.n_outputs, data.n_columns)), careful=data.careful)
        for rows in lane:
            share = _shares(data, rows)
            hard = (share > 0.0).sum(axis=0) == 1
            pull = np.where(share > 0.0, data.n_classes - 1.0, -1.0) * hard
            if data.weight is not None:
                pull = pull * (data.weight[rows] > 0.0)
            products.add(rows, _outputs(data, pull))
        return Sums({"total": products.total()})

    return executor.reduce(tally, data.slices)


def _shares(data: LogisticData, rows: slice | IntArray) -> FloatArray:
    """The labels of some rows as probabilities, shape (n_classes, n_rows)."""
    target = data.target[rows]
    if data.is_binary:
        return np.stack([1.0 - target, target])
    if target.ndim == 2:
        return np.asarray(target.T, dtype=np.float64)
    share = np.zeros((data.n_classes, target.size))
    share[target, np.arange(target.size)] = 1.0
    return share


def _with_reference(data: LogisticData, eta: FloatArray) -> FloatArray:
    """Predictors of all classes."""
    if data.is_binary:
        return np.concatenate([np.zeros_like(eta), eta])
    if data.reference:
        return np.concatenate([eta, np.zeros((1, eta.shape[1]))])
    return eta


def _outputs(data: LogisticData, pull: FloatArray) -> FloatArray:
    """Coefficients of the classes' predictors as coefficients of the outputs'."""
    if data.is_binary:
        return pull[1:]
    return pull[:-1] if data.reference else pull


def _design_rows(data: LogisticData, rows: IntArray) -> FloatArray:
    """Some rows of the design, shifted."""
    table: Any = data.design.table
    part = np.asarray(table[rows].toarray() if data.design.is_sparse else table[rows], dtype=np.float64)
    if data.design.center is not None:
        part = part - data.design.center
    if not data.design.fit_intercept:
        return part
    return np.concatenate([np.ones((part.shape[0], 1)), part], axis=1)
