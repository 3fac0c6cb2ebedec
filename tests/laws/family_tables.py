"""Tables of parameters and blocks of rows for the laws about columns: three columns, two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from softcount.families import (
    Categorical,
    CodesBlock,
    ColumnFamily,
    DenseBlock,
    MomentPrior,
    Multinomial,
    MultivariateGaussian,
    Params,
    PseudoCounts,
    SparseBlock,
)
from softcount.families.columns import one_hot
from tests.laws.family_cases import CASES, Case

N_CLASSES = 2
N_COLUMNS = 3


class Table:
    """A family as the model of a block, with parameters and rows to try it on."""

    def __init__(self, case: Case, seed: int = 0, n_rows: int = 24, missing: bool = False) -> None:
        self.case = case
        self.name = case.name
        self.rng = np.random.default_rng(seed)
        self.family = table_family(case)
        self.params = table_params(case)
        self.codes = self.rng.integers(0, N_CLASSES, n_rows).astype(np.int32)
        self.values = np.asarray(self.family.draw(self.params, self.codes, self.rng))
        if missing:
            self.values = self.values.astype(np.float64)
            self.values[self.rng.random(self.values.shape) < 0.3] = np.nan
        self.has_missing = missing
        self.resp = self.rng.dirichlet(np.ones(N_CLASSES), n_rows) * self.rng.integers(1, 4, n_rows)[:, None]

    def block(self, values: Any | None = None) -> Any:
        values = self.values if values is None else values
        return make_block(self.family, values, self.has_missing)

    def scores(self, params: Params | None = None, block: Any | None = None) -> Any:
        block = self.block() if block is None else block
        out = np.zeros((block.n_rows, N_CLASSES))
        self.family.scorer(self.params if params is None else params).add(block, out)
        return out

    def statistics(self, resp: Any | None = None, block: Any | None = None, params: Params | None = None) -> Any:
        block = self.block() if block is None else block
        tally = self.family.tally(block, N_CLASSES, self.params if params is None else params)
        tally.add(block, self.resp if resp is None else resp)
        return tally.statistics()

    def prior(self, alpha: float) -> Any:
        if self.family.prior_class is MomentPrior:
            return MomentPrior(weight=alpha, mean=0.5, scatter=2.0 * alpha, dof=alpha, smoothing=1e-3 * alpha)
        return PseudoCounts(np.asarray(alpha))


def every_table(**options: Any) -> list[Table]:
    return [Table(case, **options) for case in CASES.values()]


def table_family(case: Case) -> ColumnFamily:
    return Categorical(n_values=(4,) * N_COLUMNS) if case.name == "categorical" else case.family


def table_params(case: Case) -> Params:
    """The case's distributions laid out as a table, class axis last."""
    if isinstance(case.family, Categorical):
        rows = [np.roll(case.params[0]["log_prob"], j) for j in range(N_COLUMNS)]
        table = np.stack([np.concatenate(rows), np.concatenate(rows[::-1])], axis=-1)
        return {"log_prob": table}
    if isinstance(case.family, MultivariateGaussian):
        mean = np.array([[0.5, -1.0], [0.0, 1.0], [2.0, 0.3]])
        cov = np.array([[2.0, 0.6, 0.3], [0.6, 1.0, -0.2], [0.3, -0.2, 1.5]])
        return {"mean": mean, "cov": np.stack([cov, 0.5 * cov + np.eye(3)])}
    if case.name == "multinomial":
        return {"log_prob": np.log(np.array([[0.2, 0.5], [0.3, 0.4], [0.5, 0.1]]))}
    if case.is_vector:
        return {name: np.stack([p[name] for p in case.params[:2]], axis=-1) for name in case.params[0]}
    pick = [[case.params[(j + k) % len(case.params)] for k in range(N_CLASSES)] for j in range(N_COLUMNS)]
    return {name: np.array([[float(p[name]) for p in row] for row in pick]) for name in case.params[0]}


def make_block(family: ColumnFamily, values: Any, has_missing: bool) -> Any:
    if isinstance(family, Categorical):
        return CodesBlock(np.where(np.isnan(values), -1, values).astype(np.int32), family.offsets)
    return DenseBlock(np.asarray(values, dtype=np.float64), has_missing=has_missing)


def sparse_block(values: Any) -> SparseBlock:
    """The same cells in compressed rows, missing ones as a pattern of their own."""
    holes = np.isnan(values)
    cells = csr_array(np.where(holes, 0.0, values))
    missing = None
    if holes.any():
        pattern = csr_array(holes.astype(np.float64))
        missing = SparseBlock(pattern.indptr, pattern.indices, None, values.shape[1])
    return SparseBlock(cells.indptr, cells.indices, cells.data, values.shape[1], missing)


def one_class(table: Table, k: int) -> Params:
    """The parameters of one class, with the parts of a vector on the last axis."""
    if isinstance(table.family, MultivariateGaussian):
        return {"mean": table.params["mean"][:, k], "cov": table.params["cov"][k]}
    return {name: array[..., k] for name, array in table.params.items()}


def row_log_prob(table: Table, k: int) -> Any:
    """Log-density of every row under class ``k`` by the mathematics alone."""
    family, values, params = table.family, table.values, one_class(table, k)
    if isinstance(family, Categorical):
        columns = []
        for j in range(N_COLUMNS):
            part = {"log_prob": params["log_prob"][family.offsets[j] : family.offsets[j + 1]]}
            columns.append(family.log_prob(values[:, j], part))
        return np.sum(columns, axis=0)
    if isinstance(family, Multinomial):
        # Words that were seen, among those that could be.
        seen = (~np.isnan(values)) @ np.exp(params["log_prob"])
        length = np.nansum(values, axis=1)
        whole = family.log_prob(values, params) - family.log_base(values)
        return whole - np.where(length > 0.0, length * np.log(np.where(seen > 0.0, seen, 1.0)), 0.0)
    log_prob = family.log_prob(values, params)
    return log_prob if table.case.is_vector else log_prob.sum(axis=1)


def known(codes: Any, weight: Any | None = None) -> Any:
    return one_hot(codes, weight, N_CLASSES)
