"""From the columns of a mixed table to families and blocks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import BoolArray
from softcount.estimators._tables import check_magnitude
from softcount.families import FAMILIES
from softcount.families.blocks import Block, CodesBlock, DenseBlock
from softcount.families.categorical import Categorical
from softcount.families.columns import ColumnFamily
from softcount.families.moment_prior import MomentPrior
from softcount.inputs.columns import Column, encode, few_values, learn_categories

__all__ = ["SAYS_NOTHING", "ColumnPlan", "TablePlan", "plan_table"]

#: A column of this many cells or more, of which more than this share differ, is not one of categories.
FEWEST_CELLS, SINGULAR = 20, 0.5


#: Why a column without any value is modeled as it is.
SAYS_NOTHING = "no value at all: it says nothing"


@dataclass(frozen=True)
class ColumnPlan:
    """How one column is modeled.

    Attributes
    ----------
    name : str
    family : str or ColumnFamily
        Name in the registry, or a family the user made.
    reason : str
        Why, in words.
    categories : tuple or None
        The values of a categorical column, in the order of their codes.
    kind : str
        What the column was in the table.
    """

    name: str
    family: Any
    reason: str
    categories: tuple[Any, ...] | None = None
    kind: str = "number"

    @property
    def family_name(self) -> str:
        return self.family if isinstance(self.family, str) else str(self.family.name)


@dataclass(frozen=True)
class TablePlan:
    """How a table's columns become blocks: one block per family, columns in their order."""

    columns: tuple[ColumnPlan, ...]

    def groups(self) -> list[tuple[Any, list[int]]]:
        """Families and the positions of their columns, in order of first appearance."""
        found: list[tuple[Any, list[int]]] = []
        for position, plan in enumerate(self.columns):
            for family, members in found:
                if family == plan.family:
                    members.append(position)
                    break
            else:
                found.append((plan.family, [position]))
        return found

    def order(self) -> NDArray[Any]:
        """Position in the table of every block column."""
        return np.concatenate([np.asarray(members) for _, members in self.groups()])

    def families(self, *, with_unseen: bool, shared_variance: bool = False) -> tuple[ColumnFamily, ...]:
        """A family per block."""
        result: list[ColumnFamily] = []
        for family, members in self.groups():
            if family == "categorical":
                sizes = tuple(max(1, len(self.columns[j].categories or ())) for j in members)
                result.append(Categorical(sizes, with_unseen))
            elif isinstance(family, ColumnFamily):
                result.append(family)
            elif family in ("gaussian", "multivariate_gaussian"):
                result.append(FAMILIES[family](shared=shared_variance))  # type: ignore[call-arg]
            else:
                result.append(FAMILIES[family]())
        return tuple(result)

    def blocks(self, columns: Sequence[Column], handle_unknown: str) -> tuple[Block, ...]:
        """The table's columns laid out in blocks."""
        families = self.families(with_unseen=handle_unknown == "smooth")
        result: list[Block] = []
        for (_, members), family in zip(self.groups(), families, strict=True):
            chosen = [columns[j] for j in members]
            if isinstance(family, Categorical):
                result.append(self._codes(chosen, members, family, handle_unknown))
            else:
                result.append(_numbers(chosen, family))
        return tuple(result)

    def _codes(self, columns: list[Column], members: list[int], family: Categorical, handle_unknown: str) -> CodesBlock:
        codes = np.empty((columns[0].values.shape[0], len(columns)), dtype=np.int32)
        for place, (column, j) in enumerate(zip(columns, members, strict=True)):
            categories = self.columns[j].categories or ()
            codes[:, place], unknown = encode(column, categories)
            if not unknown.any():
                continue
            if handle_unknown == "error":
                row = int(np.flatnonzero(unknown)[0])
                raise InputError(
                    f"Row {row}, column {column.name!r} holds {column.values[row]!r}, which was not seen in training. "
                    "Use handle_unknown='ignore' to leave such cells out, or 'smooth' to give them a small probability."
                )
            _warn_of_other_type(column, unknown, categories)
            if handle_unknown == "smooth":
                codes[unknown, place] = family.n_values[place]
        return CodesBlock(codes, family.offsets)

    def widened(self, columns: Sequence[Column]) -> TablePlan:
        """The plan with categories that appear in ``columns`` for the first time added behind the known ones."""
        plans = []
        for plan, column in zip(self.columns, columns, strict=True):
            if plan.categories is None:
                plans.append(plan)
                continue
            known = set(plan.categories)
            fresh = [v for v in learn_categories(column) if v not in known]
            plans.append(replace(plan, categories=plan.categories + tuple(fresh)))
        return TablePlan(tuple(plans))


def _warn_of_other_type(column: Column, unknown: BoolArray, categories: Sequence[Any]) -> None:
    """Say so where texts came for numbers, or numbers for texts: then no cell is known, and the column says nothing."""
    if not categories or not np.array_equal(unknown, ~column.missing):
        return
    cell = column.values[int(np.flatnonzero(unknown)[0])]
    if isinstance(cell, str) == isinstance(categories[0], str):
        return
    cell = cell.item() if isinstance(cell, np.generic) else cell
    warnings.warn(
        f"Column {column.name!r} holds values such as {cell!r}, none of which is known: in training there were values "
        f"such as {categories[0]!r}, of another type. The column says nothing so; convert it.",
        UserWarning,
        stacklevel=2,
    )


def _numbers(columns: list[Column], family: ColumnFamily) -> DenseBlock:
    names = [column.name for column in columns]
    for column in columns:
        if column.values.dtype.kind == "O" and column.kind == "category":
            row = int(np.flatnonzero(~column.missing)[0])
            raise InputError(
                f"Row {row}, column {column.name!r} holds {column.values[row]!r}, but a {family.name} column holds "
                f"{family.support}. Convert the column, or give it the family 'categorical'."
            )
    values = np.stack([np.asarray(column.values, dtype=np.float64) for column in columns], axis=1)
    family.check_values(values, names)
    if family.prior_class is MomentPrior:
        check_magnitude(values, names)
    return DenseBlock(values, bool(np.isnan(values).any()))


def plan_table(columns: Sequence[Column], families: Any) -> TablePlan:
    """Decide every column's family.

    Parameters
    ----------
    columns : sequence of Column
    families : None, str, ColumnFamily, sequence or mapping
        One family for all columns, one per column, or a mapping from column names; columns without one are inferred:
        booleans and 0/1 are Bernoulli, texts and whole numbers with at most ten different values categorical, other
        numbers Gaussian.
    """
    chosen = _asked(columns, families)
    return TablePlan(tuple(_plan(column, asked) for column, asked in zip(columns, chosen, strict=True)))


def _asked(columns: Sequence[Column], families: Any) -> list[Any]:
    if families is None or isinstance(families, (str, ColumnFamily)):
        return [families] * len(columns)
    if isinstance(families, Mapping):
        names = [column.name for column in columns]
        unknown = [name for name in families if name not in names]
        if unknown:
            raise InputError(f"families names the columns {unknown}, which X does not have; it has {names}.")
        return [families.get(name) for name in names]
    listed = list(families)
    if len(listed) != len(columns):
        raise InputError(f"families has {len(listed)} entries, but X has {len(columns)} columns.")
    return listed


def _plan(column: Column, asked: Any) -> ColumnPlan:
    if asked is None:
        family, reason = _infer(column)
    else:
        family, reason = asked, "as asked"
        if isinstance(asked, str) and asked not in FAMILIES:
            raise InputError(
                f"Column {column.name!r} is to be {asked!r}, which is no family. Choose one of "
                f"{', '.join(sorted(FAMILIES))}, or give a family object."
            )
        if isinstance(asked, Categorical):
            family = "categorical"
        elif not isinstance(asked, (str, ColumnFamily)):
            raise InputError(
                f"Column {column.name!r} is to be {asked!r}; give the name of a family or a family object."
            )
    categories = tuple(learn_categories(column)) if family == "categorical" else None
    if asked is None and categories is not None:
        _warn_of_singular_values(column, len(categories))
    return ColumnPlan(column.name, family, reason, categories, column.kind)


def _warn_of_singular_values(column: Column, n_values: int) -> None:
    """Texts, names and numbers of rows are no categories: nearly every row has one of its own."""
    n_rows = int(np.count_nonzero(~column.missing))
    if n_rows >= FEWEST_CELLS and n_values > SINGULAR * n_rows:
        warnings.warn(
            f"Column {column.name!r} has {n_values:,} different values in {n_rows:,} rows: taken for categories, it "
            "says next to nothing about new rows. Leave it out; or, if it holds texts, count their words (with "
            "scikit-learn's CountVectorizer) and fit MultinomialNB. families={"
            f"{column.name!r}: 'categorical'}} says that it is meant.",
            UserWarning,
            stacklevel=4,
        )


def _infer(column: Column) -> tuple[str, str]:
    if column.missing.all():
        return "gaussian", SAYS_NOTHING
    if column.kind == "boolean":
        return "bernoulli", "true or false"
    if column.kind == "category":
        return "categorical", "texts or categories"
    if column.kind == "integer":
        observed = column.values[~column.missing]
        if observed.min() >= 0 and observed.max() <= 1:
            return "bernoulli", "whole numbers 0 and 1"
        count = few_values(column)
        if count is not None:
            return "categorical", f"whole numbers with {count} different values"
        return "gaussian", "whole numbers with many different values"
    return "gaussian", "numbers"
