"""Columns that say which class a row is in: the design of a latent class regression, and tables with such columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.membership import Membership
from softcount.core.mixture import MixtureModel
from softcount.estimators.rows.table import TableRows
from softcount.families.blocks import Block, DenseBlock
from softcount.families.columns import PseudoCounts
from softcount.inputs.columns import Column, encode, learn_categories

__all__ = ["CovariateRows", "Covariates", "as_covariates", "refuse_dependent", "with_membership"]

INTERCEPT = "(intercept)"
#: More levels than this are no category that somebody wants a coefficient of each of.
MOST_LEVELS = 50
#: A column of the design of which less than this share lies outside the span of those before it adds nothing.
DEPENDENT = 1e-9


@dataclass(frozen=True)
class Covariates:
    """Which columns of the table are covariates, and how they become numbers.

    Attributes
    ----------
    table_names : tuple of str
        All columns of the table.
    names : tuple of str
        The covariates among them.
    levels : tuple of (tuple or None)
        Of each, the values of a category, of which the first is the one the others are compared with; None for numbers.
    """

    table_names: tuple[str, ...]
    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...] | None, ...]

    @property
    def design_names(self) -> list[str]:
        """Names of the coefficients."""
        found = [INTERCEPT]
        for name, levels in zip(self.names, self.levels, strict=True):
            found += [name] if levels is None else [f"{name}={level}" for level in levels[1:]]
        return found

    def items(self, columns: Sequence[Column]) -> list[Column]:
        """The columns that the classes explain."""
        return [column for column in columns if column.name not in self.names]

    def block(self, columns: Sequence[Column]) -> DenseBlock:
        """The design of the rows: ones, numbers, and an indicator for each further level."""
        by_name = {column.name: column for column in columns}
        parts: list[FloatArray] = [np.ones((columns[0].values.shape[0], 1))]
        for name, levels in zip(self.names, self.levels, strict=True):
            column = by_name[name]
            _refuse_unusable(column)
            parts.append(_numbers(column) if levels is None else _indicators(column, levels))
        return DenseBlock(np.ascontiguousarray(np.concatenate(parts, axis=1)))


def learn_covariates(asked: Any, columns: Sequence[Column]) -> Covariates:
    """The covariates among a table's columns.

    Parameters
    ----------
    asked : str, int, or sequence of these
        Names or positions of columns.
    columns : sequence of Column
    """
    names = [column.name for column in columns]
    listed: list[Any] = [asked] if isinstance(asked, str | int | np.integer) else list(asked)
    chosen: list[str] = []
    for one in listed:
        position: Any = names.index(one) if one in names else one
        is_place = isinstance(position, (int, np.integer)) and not isinstance(position, bool)
        if not is_place or not 0 <= position < len(names):
            shown = ", ".join(map(repr, names[:20]))
            raise InputError(f"covariates names the column {one!r}, which X does not have; it has {shown}.")
        if names[position] not in chosen:
            chosen.append(names[position])
    if len(chosen) == len(names):
        raise InputError("All columns of X are covariates, so there is no item left. Name fewer of them.")
    return _coded(columns, chosen)


def as_covariates(columns: Sequence[Column]) -> Covariates:
    """All columns of a table as covariates."""
    return _coded(columns, [column.name for column in columns])


def _coded(columns: Sequence[Column], chosen: Sequence[str]) -> Covariates:
    names = [column.name for column in columns]
    by_name = {column.name: column for column in columns}
    levels = [tuple(learn_categories(by_name[n])) if by_name[n].kind == "category" else None for n in chosen]
    for name, values in zip(chosen, levels, strict=True):
        if values is not None and len(values) > MOST_LEVELS:
            raise InputError(
                f"The covariate {name!r} has {len(values)} different texts, each of which would be a coefficient in "
                f"every class; at most {MOST_LEVELS} are allowed. Convert it to numbers, or group its values."
            )
    return Covariates(tuple(names), tuple(chosen), tuple(levels))


def _refuse_unusable(column: Column) -> None:
    if column.values.dtype.kind == "f" and np.isinf(column.values).any():
        row = int(np.flatnonzero(np.isinf(column.values))[0])
        raise InputError(f"Row {row}, covariate {column.name!r} is infinite; covariates are finite numbers.")
    if column.missing.any():
        rows = np.flatnonzero(column.missing)
        raise InputError(
            f"The covariate {column.name!r} is missing in {rows.size} rows (the first is row {rows[0]}). Items may be "
            "missing, covariates may not: leave those rows out, or fill the values in."
        )


def _numbers(column: Column) -> FloatArray:
    if column.kind == "category":
        raise InputError(
            f"The covariate {column.name!r} held numbers when the model was fitted; row 0 holds {column.values[0]!r}."
        )
    return np.asarray(column.values, dtype=np.float64)[:, None]


def _indicators(column: Column, levels: tuple[Any, ...]) -> FloatArray:
    codes, unknown = encode(column, levels)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise InputError(
            f"Row {row}, covariate {column.name!r} holds {column.values[row]!r}, which was not there in training; "
            f"there were {', '.join(map(repr, levels))}."
        )
    return np.asarray(codes[:, None] == np.arange(1, len(levels)), dtype=np.float64)


def with_membership(model: MixtureModel, block: Block) -> MixtureModel:
    """The model of the items, with sizes of the classes that follow from a block of covariates."""
    return replace(
        model,
        families=(*model.families, Membership()),
        priors=(*model.priors, PseudoCounts(np.zeros(()))),
        table_bytes=model.table_bytes + 8 * (block.n_columns * model.n_components) ** 2,
    )


def refuse_dependent(given: Covariates, design: FloatArray, weight: FloatArray | None = None) -> None:
    """Refuse covariates that others (or the intercept) determine: their coefficients could be anything."""
    used = design if weight is None else design[weight > 0.0]
    scale = np.sqrt((used * used).sum(axis=0))
    triangle = np.asarray(np.linalg.qr(used / np.where(scale > 0.0, scale, 1.0), mode="r"))
    size = np.zeros(design.shape[1])
    size[: triangle.shape[0]] = np.abs(np.diagonal(triangle))
    lost = [name for name, left in zip(given.design_names, size, strict=True) if left < DEPENDENT]
    # A category of one level has no column at all.
    lost += [name for name, levels in zip(given.names, given.levels, strict=True) if levels and len(levels) == 1]
    if lost:
        raise InputError(
            f"The covariates {', '.join(map(repr, lost))} say nothing that the intercept and the covariates before "
            "them do not say (one may be constant, or a sum or multiple of others), so their coefficients could be "
            "anything. Leave them out."
        )


class CovariateRows(TableRows):
    """An estimator of mixed tables, some of whose columns may be covariates; their block is the last."""

    covariates: Any
    _covariates: Covariates | None

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        blocks = super()._read_blocks(X, reset=reset)
        if reset and self._covariates is not None:
            block: Any = blocks[-1]
            refuse_dependent(self._covariates, np.asarray(block.values))
        return blocks

    def _lay_out(self, columns: list[Column], *, reset: bool) -> tuple[Block, ...]:
        if reset:
            self._covariates = None if self.covariates is None else learn_covariates(self.covariates, columns)
        given = self._covariates
        if given is None:
            return super()._lay_out(columns, reset=reset)
        return (*super()._lay_out(given.items(columns), reset=reset), given.block(columns))

    def _table_names(self) -> list[str]:
        return super()._table_names() if self._covariates is None else list(self._covariates.table_names)

    def _feature_names(self) -> list[str]:
        return super()._feature_names() + self._design_names()

    def _design_names(self) -> list[str]:
        given = getattr(self, "_covariates", None)
        return [] if given is None else given.design_names

    def _feature_order(self) -> NDArray[Any] | None:
        order = super()._feature_order()
        if order is None:
            return None
        return np.concatenate([order, len(order) + np.arange(len(self._design_names()))])

    def _block_categories(self) -> list[list[Any] | None]:
        return super()._block_categories() + [None] * len(self._design_names())

    def _draw(self, n_samples: int, components: NDArray[Any], rng: np.random.Generator) -> Any:
        if self._covariates is not None:
            raise InputError(
                "The model has covariates, which are given and not drawn, so it cannot draw rows. Fit without "
                "covariates to draw from the classes."
            )
        return super()._draw(n_samples, components, rng)
