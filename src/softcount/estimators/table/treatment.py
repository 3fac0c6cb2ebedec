"""From the cells of a file to the blocks of a model, in the same way in training and in prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, IntArray
from softcount.core.patterns import take_rows
from softcount.estimators._columns import ColumnPlan, TablePlan
from softcount.estimators._tables import check_magnitude, sparse_block
from softcount.estimators.table.text import TextCounter, TextOptions
from softcount.families.blocks import Block, SparseBlock
from softcount.inputs.cells import find_missing, parse_dates, parse_numbers
from softcount.inputs.columns import Column, learn_categories
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole

__all__ = ["FAMILY_OF_ROLE", "CountedRows", "Treatment", "options_for"]

#: The distribution of a column, by its role.
FAMILY_OF_ROLE = {"number": "gaussian", "date": "gaussian", "count": "poisson", "category": "categorical"}
#: Runs of characters that stand for words where words are not set apart by spaces.
UNSPACED = (1, 2)


@dataclass(frozen=True)
class CountedRows:
    """Rows of a table after their treatment.

    Attributes
    ----------
    blocks : tuple of Block
    """

    blocks: tuple[Block, ...]

    def take(self, rows: IntArray) -> CountedRows:
        """Some of the rows, in that order."""
        return CountedRows(tuple(take_rows(block, rows) for block in self.blocks))


@dataclass(frozen=True)
class Treatment:
    """How every column of a table is read.

    Attributes
    ----------
    roles : tuple of ColumnRole
        All columns of the training table.
    plan : TablePlan
        The columns that are no texts.
    counters : tuple of TextCounter
        One per text column.
    missing_marks : tuple of str
    """

    roles: tuple[ColumnRole, ...]
    plan: TablePlan
    counters: tuple[TextCounter, ...]
    missing_marks: tuple[str, ...]

    @classmethod
    def learn(
        cls,
        table: RawTable,
        roles: Sequence[ColumnRole],
        missing_marks: Sequence[str],
        options: TextOptions,
        n_threads: int,
    ) -> tuple[Treatment, tuple[Block, ...]]:
        """Look at a table once: categories, vocabularies, and the blocks of its rows."""
        treatment = cls(tuple(roles), TablePlan(()), (), tuple(missing_marks))
        columns = treatment.columns(table)
        plans = []
        for role, column in zip(treatment.table_roles, columns, strict=True):
            categories = tuple(learn_categories(column)) if role.role == "category" else None
            plans.append(ColumnPlan(role.name, FAMILY_OF_ROLE[role.role], role.reason, categories, column.kind))
        counters, counts = [], []
        for role in treatment.text_roles:
            chosen = options_for(role, options)
            counter, matrix = TextCounter.learn(treatment.texts(table, role.name), chosen, n_threads)
            counters.append(counter)
            counts.append(matrix)
        treatment = replace(treatment, plan=TablePlan(tuple(plans)), counters=tuple(counters))
        return treatment, tuple(map(_narrow, treatment._assemble(columns, counts)))

    @property
    def table_roles(self) -> list[ColumnRole]:
        """The learned columns that are no texts."""
        return [role for role in self.roles if role.is_learned and role.role != "text"]

    @property
    def text_roles(self) -> list[ColumnRole]:
        """The text columns."""
        return [role for role in self.roles if role.role == "text"]

    @property
    def learned_names(self) -> list[str]:
        """The columns that have to be there in prediction."""
        return [role.name for role in self.roles if role.is_learned]

    def blocks(self, table: RawTable, n_threads: int) -> tuple[Block, ...]:
        """The rows of another table, laid out as the training rows were."""
        columns = self.columns(table)
        counts = [
            counter.count(self.texts(table, role.name), n_threads)
            for role, counter in zip(self.text_roles, self.counters, strict=True)
        ]
        return self._assemble(columns, counts)

    def _assemble(self, columns: list[Column], counts: Sequence[Any]) -> tuple[Block, ...]:
        blocks = self.plan.blocks(columns, "ignore") if columns else ()
        return (*blocks, *(sparse_block(matrix) for matrix in counts))

    def feature_names(self) -> list[str]:
        """The columns of all blocks, in order; of texts, what is counted."""
        names = [self.plan.columns[int(j)].name for j in self.plan.order()] if self.plan.columns else []
        alone = not names and len(self.counters) == 1
        for role, counter in zip(self.text_roles, self.counters, strict=True):
            prefix = "" if alone else f"{role.name}: "
            names.extend(f"{prefix}{word}" for word in counter.feature_names())
        return names

    def texts(self, table: RawTable, name: str) -> list[str]:
        """The cells of a column as texts; a missing one is empty."""
        return ["" if cell is None else cell if isinstance(cell, str) else str(cell) for cell in table.columns[name]]

    def columns(self, table: RawTable) -> list[Column]:
        """The columns that are no texts, cell by cell as the training columns were read."""
        absent = [name for name in self.learned_names if name not in table.columns]
        if absent:
            raise InputError(
                f"The model was trained with the columns {absent}, which are not there. The table has the columns "
                f"{list(table.columns)}."
            )
        return [self._column(table, role) for role in self.table_roles]

    def _column(self, table: RawTable, role: ColumnRole) -> Column:
        cells = table.columns[role.name]
        missing = find_missing(cells, self.missing_marks)
        if role.role == "category":
            return _category(role.name, cells, missing)
        parsed = parse_dates(cells, missing) if role.role == "date" else parse_numbers(cells, missing, role.style)
        values, wrong = parsed
        if role.role == "count":
            wrong = np.union1d(wrong, np.flatnonzero((values < 0.0) | (values != np.floor(values)) & ~missing))
        if wrong.size:
            first = int(wrong[0])
            expected = {"date": "a date like 2026-11-18", "count": "a whole number of 0 or more"}
            raise InputError(
                f"{table.where(first).capitalize()}, column {role.name!r} holds {cells[first]!r}; expected "
                f"{expected.get(role.role, 'a number')}. Correct the cell, or leave it empty if the value is unknown."
            )
        check_magnitude(values[:, None], [role.name])
        return Column(role.name, "number", values, missing)


def _narrow(block: Block) -> Block:
    """Counts that are gone through again and again in the shortest type that holds them."""
    if not isinstance(block, SparseBlock) or block.data is None or block.data.dtype.kind not in "iu":
        return block
    return replace(block, data=block.data.astype(np.min_scalar_type(block.data.max(initial=0))))


def _category(name: str, cells: Sequence[Any], missing: BoolArray) -> Column:
    values = np.empty(len(cells), dtype=object)
    values[:] = [None if lost else _spelled(cell) for cell, lost in zip(cells, missing.tolist(), strict=True)]
    return Column(name, "category", values, missing)


def _spelled(cell: Any) -> str:
    """A category as text, so that 1 and "1", true and "true" from different formats are the same."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)


def options_for(role: ColumnRole, options: TextOptions) -> TextOptions:
    """How the texts of a column are counted: where words are not set apart by spaces, by runs of characters too."""
    is_unspaced = options.characters is None and role.reason.startswith("a script without spaces")
    return replace(options, characters=UNSPACED) if is_unspaced else options
