"""Mixtures of tables as they come from files: which groups the rows fall into, without any label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.estimators._columns import TablePlan
from softcount.estimators.latent_class import LatentClass
from softcount.estimators.mixture.mixed import Mixture
from softcount.estimators.rows.table import TableRows
from softcount.estimators.table.treatment import FAMILY_OF_ROLE, Treatment
from softcount.inputs.columns import Column
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole, decide_roles

__all__ = ["ProfileRow", "TableLatentClass", "TableMixture", "TreatedTable"]


class ProfileRow(NamedTuple):
    """One line of what the groups look like.

    Attributes
    ----------
    column : str
    value : str or None
        The value whose probability it is; None for numbers, counts and dates.
    quantity : str
        "probability", "mean", "standard deviation" or "rate".
    overall : float
        The same of all rows, as the mixture has it.
    groups : array of shape (n_components,)
    """

    column: str
    value: str | None
    quantity: str
    overall: float
    groups: FloatArray


@dataclass(frozen=True)
class TreatedTable:
    """The columns of a table that a mixture is fitted to, read once for all numbers of groups.

    Attributes
    ----------
    treatment : Treatment
        How every column was read.
    columns : tuple of Column
        What was read.
    """

    treatment: Treatment
    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, table: RawTable, roles: Sequence[ColumnRole], missing_marks: Sequence[str]) -> TreatedTable:
        """Read a table whose columns' roles are decided; texts are no columns of a mixture.

        Parameters
        ----------
        table : RawTable
        roles : sequence of ColumnRole
        missing_marks : sequence of str
            Texts that stand for a missing value.
        """
        texts = [role.name for role in roles if role.role == "text"]
        if texts:
            raise InputError(f"The columns {texts} hold texts, which no distribution of a column describes.")
        treatment = Treatment(tuple(roles), TablePlan(()), (), tuple(missing_marks))
        if not treatment.table_roles:
            raise InputError("There is no column to find groups by.")
        return cls(treatment, tuple(treatment.columns(table)))

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.columns[0].values.shape[0])

    @property
    def is_categorical(self) -> bool:
        """Whether every column is a category, as the items of a latent class analysis are."""
        return all(role.role == "category" for role in self.treatment.table_roles)


class _TreatedRows(TableRows):
    """Rows of a table as it comes from a file: cells by column, all of them perhaps texts."""

    treatment_: Treatment
    component_names_: NDArray[Any]

    def _read_labels(self, y: Any, n_rows: int) -> Any:
        labels, names = super()._read_labels(y, n_rows)
        return labels, np.array([f"group {k + 1}" for k in range(names.shape[0])]) if y is None else names

    def _read_table(self, X: Any, *, reset: bool) -> list[Column]:
        if reset:
            treated = X if isinstance(X, TreatedTable) else _treated(RawTable.of(X))
            self.treatment_ = treated.treatment
            names = [role.name for role in treated.treatment.roles]
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            return list(treated.columns)
        if isinstance(X, TreatedTable):
            return list(X.columns)
        return self.treatment_.columns(RawTable.of(X))

    def _read_blocks(self, X: Any, *, reset: bool) -> Any:
        blocks = super()._read_blocks(X, reset=reset)
        if reset:
            self.treatment_ = replace(self.treatment_, plan=self._plan_table)
        return blocks

    def _asked_families(self, columns: list[Column]) -> Any:
        return {role.name: FAMILY_OF_ROLE[role.role] for role in self.treatment_.table_roles}

    @property
    def group_names(self) -> list[str]:
        """The groups: "group 1" is the largest."""
        check_is_fitted(self, "params_")
        return [str(name) for name in self.component_names_.tolist()]

    def profile(self) -> list[ProfileRow]:
        """What the groups look like, the columns that tell them apart best first."""
        check_is_fitted(self, "params_")
        weight = np.exp(self.params_.log_weights)
        rows: list[ProfileRow] = []
        means: dict[str, FloatArray] = {}
        for row in self._parameter_rows():
            values = np.asarray(row.values, dtype=np.float64)
            overall = float(weight @ values)
            if row.quantity == "mean":
                means[row.column] = values
            if row.quantity == "variance":
                # The variance of a mixture is that within the groups and that of their means.
                within, mean = overall, means[row.column]
                overall = float(np.sqrt(within + weight @ (mean - weight @ mean) ** 2))
                rows.append(ProfileRow(row.column, None, "standard deviation", overall, np.sqrt(values)))
                continue
            value = None if row.category is None else str(row.category)
            rows.append(ProfileRow(row.column, value, row.quantity, overall, values))
        telling = self._telling_columns(weight)
        return sorted(rows, key=lambda row: -telling[row.column])

    def _telling_columns(self, weight: FloatArray) -> dict[str, float]:
        """How much each column tells about the group of a row, in nats."""
        names, start = self._block_feature_names(), 0
        found: dict[str, float] = dict.fromkeys(names, 0.0)
        if weight.shape[0] == 1:
            return found
        for family, params in zip(self.model_.families, self.params_.blocks, strict=True):
            scores = np.abs(family.telling(params, weight)) @ weight
            found.update(zip(names[start : start + scores.shape[0]], scores.tolist(), strict=True))
            start += scores.shape[0]
        return found


class TableMixture(_TreatedRows, Mixture):
    r"""Mixture for tables as they come from files, whose cells may all be texts.

    .. math:: p(x_i) = \sum_k \pi_k \prod_j p_{jk}(x_{ij})

    What each column is gets decided as in :class:`TableClassifier`; the parameters are those of
    :class:`softcount.Mixture`. X is a data frame, an Arrow table or a mapping from names to cells.

    Examples
    --------
    >>> table = {
    ...     "color": ["red", "red", "red", "blue", "blue", "?"],
    ...     "size": ["1.2", "0.9", "1.1", "5.1", "4.8", "5.3"],
    ... }
    >>> TableMixture(2, random_state=0).fit(table).predict(table).tolist()
    [0, 0, 0, 1, 1, 1]
    """


class TableLatentClass(_TreatedRows, LatentClass):
    r"""Latent class analysis of tables as they come from files, whose cells may all be texts.

    .. math:: P(x_i) = \sum_k \pi_k \prod_j \theta_{j x_{ij} k}

    Every column that is kept is an item; the parameters are those of :class:`softcount.LatentClass`.

    Examples
    --------
    >>> answers = {"q1": ["yes", "yes", "no", "no", "yes", "no"], "q2": ["no", "no", "yes", "yes", "?", "yes"]}
    >>> model = TableLatentClass(2, random_state=0).fit(answers)
    >>> model.predict({"q1": ["yes"], "q2": [""]}).tolist() == model.predict({"q1": ["yes"], "q2": ["no"]}).tolist()
    True
    """

    def _asked_families(self, columns: list[Column]) -> Any:
        # Every column has been decided about, so none is measured without being asked to.
        self._measured = []
        return super()._asked_families(columns)


def _treated(table: RawTable) -> TreatedTable:
    from softcount.inputs.cells import MISSING_MARKS

    roles = decide_roles(table.columns, where=table.where)
    return TreatedTable.learn(table, roles, sorted(MISSING_MARKS))
