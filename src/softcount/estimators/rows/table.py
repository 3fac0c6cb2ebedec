"""Rows of a table whose columns are of different kinds."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted, validate_data

from softcount._errors import InputError
from softcount.core.chunks import row_width
from softcount.estimators._columns import TablePlan, plan_table
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._tables import (
    is_sparse,
    read_numbers,
    refuse_repeated_names,
    sparse_block,
    without_duplicates,
)
from softcount.estimators.distant.surveys import BlockSurvey, check_same_columns, like_layout
from softcount.estimators.rows.codes import UNKNOWN
from softcount.families import FAMILIES
from softcount.families.blocks import Block
from softcount.families.categorical import Categorical
from softcount.families.columns import ColumnFamily, PseudoCounts
from softcount.families.moment_prior import MomentPrior
from softcount.families.normal_priors import table_counts
from softcount.inputs.batches import at
from softcount.inputs.column_survey import ColumnSurvey, as_kind, short_columns
from softcount.inputs.columns import Column, is_table, read_columns
from softcount.inputs.masked import unmasked

__all__ = ["TableRows"]

SPARSE_FAMILIES = ("bernoulli", "multinomial", "poisson")


@dataclass(frozen=True)
class TableSurvey:
    """The columns of some rows of a table; or a sparse table of one family."""

    names: tuple[Any, ...] | None
    columns: tuple[ColumnSurvey, ...]
    backend: str
    sparse: BlockSurvey | None = None
    all_ones: bool = True

    def __add__(self, other: TableSurvey) -> TableSurvey:
        if (self.sparse is None) != (other.sparse is None):
            raise InputError("Some batches are sparse and others dense. Give all of them in one form.")
        if self.sparse is not None and other.sparse is not None:
            check_same_columns((None, self.sparse.n_columns), (None, other.sparse.n_columns))
            return replace(self, sparse=self.sparse + other.sparse, all_ones=self.all_ones and other.all_ones)
        check_same_columns((self.names, len(self.columns)), (other.names, len(other.columns)))
        return replace(self, columns=tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)))


class TableRows(GenerativeEstimator):
    """An estimator of mixed tables; ``families`` says which distribution each column has, or it is inferred."""

    families: Any
    alpha: Any
    feature_prior: Any
    estimate: str
    handle_unknown: str
    shared_variance: bool
    verbose: int
    _sparse_family: str | None
    _plan_table: TablePlan
    families_: dict[str, str]

    # ---- reading
    #: Whether rows are being read to be counted (then new categories are learned) rather than to be scored.
    _is_counting = False

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        if is_sparse(X) or (not reset and self._sparse_family is not None):
            return self._read_sparse(X, reset=reset)
        return self._lay_out(self._read_table(X, reset=reset), reset=reset)

    def _lay_out(self, columns: list[Column], *, reset: bool) -> tuple[Block, ...]:
        """The columns in blocks, one per family."""
        if reset:
            self._plan_table = plan_table(columns, self._asked_families(columns))
            self._sparse_family = None
            if self.verbose:
                sys.stderr.write(self.column_report() + "\n")
        elif self._is_counting:
            self._plan_table = self._plan_table.widened(columns)
        return self._plan_table.blocks(columns, self.handle_unknown)

    # ---- rows that come in batches
    def _survey_columns(self, X: Any) -> TableSurvey:
        if is_sparse(X):
            X = without_duplicates(read_numbers(self, X, reset=True))
            block = BlockSurvey.of(sparse_block(X))
            return TableSurvey(None, (), "", replace(block, dtype=X.dtype), bool((X.data == 1).all()))
        columns = self._read_table(X, reset=True)
        wanted = self._all_values_wanted([column.name for column in columns])
        surveys = tuple(ColumnSurvey.of(c, keeps_all=c.name in wanted) for c in columns)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(names.tolist())
        return TableSurvey(names, surveys, getattr(self, "_backend_name", ""))

    def _all_values_wanted(self, names: list[str]) -> set[str]:
        """Columns that are asked to be categorical: all of their values have to be known, however many."""
        asked = self.families
        if isinstance(asked, Mapping):
            asked = [asked.get(name) for name in names]
        elif asked is None or isinstance(asked, (str, ColumnFamily)):
            asked = [asked] * len(names)
        found = zip(names, asked, strict=False)
        return {name for name, family in found if family == "categorical" or isinstance(family, Categorical)}

    def _settle_columns(self, found: TableSurvey, n_rows: int) -> tuple[tuple[Block, ...], float]:
        if found.sparse is not None:
            self._settle_names(None, found.sparse.n_columns)
            self._sparse_family = self._sparse_family_for(all_ones=found.all_ones)
            self._plan_table = TablePlan(())
            return (found.sparse.layout(),), found.sparse.width(n_rows)
        self._settle_names(found.names, len(found.columns))
        if found.backend:
            self._backend_name = found.backend
        with at("a short table that holds the different values of every column"):
            blocks = self._lay_out(short_columns(found.columns), reset=True)
        return tuple(block.rows(0, 0) for block in blocks), row_width(blocks)

    def _read_batch(self, X: Any, layout: tuple[Block, ...]) -> tuple[Block, ...]:
        if is_sparse(X):
            return super()._read_batch(X, layout)
        kinds = {plan.name: plan.kind for plan in self._plan_table.columns}
        columns = [as_kind(c, kinds.get(c.name, c.kind)) for c in self._read_table(X, reset=False)]
        blocks = self._lay_out(columns, reset=False)
        return tuple(like_layout(block, shown) for block, shown in zip(blocks, layout, strict=True))

    def _asked_families(self, columns: list[Column]) -> Any:
        """Families the user asked for, by column; those of the others are inferred."""
        return self.families

    def _read_table(self, X: Any, *, reset: bool) -> list[Column]:
        if is_table(X):
            refuse_repeated_names(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = read_columns(X)
            if not columns:
                raise InputError("X has no columns; found array with 0 feature(s) while a minimum of 1 is required.")
            if columns[0].values.shape[0] == 0:
                raise InputError(f"X has {len(columns)} columns and no rows; found array with 0 sample(s).")
            if reset:
                self._backend_name = type(X).__module__.split(".")[0]
                names = [column.name for column in columns]
                twice = sorted({name for name in names if names.count(name) > 1})
                if twice:
                    raise InputError(f"The column names {twice} occur more than once in X. Rename the columns.")
            _refuse_infinity(columns)
            return columns
        array = unmasked(X) if isinstance(X, np.ndarray) else _as_array(X)
        if array.ndim == 1 and array.dtype == object and all(isinstance(row, list | tuple) for row in array):
            read_columns(list(array))  # rows of different lengths, which it names
        if array.dtype.kind in "OUS":
            if array.ndim != 2:
                raise InputError(f"Expected 2D array, got {array.ndim}D array instead. Reshape your data.")
            if array.shape[0] == 0 or array.shape[1] == 0:
                raise InputError(
                    f"Found array with {array.shape[0]} sample(s) and {array.shape[1]} feature(s) "
                    f"(shape={array.shape}) while a minimum of 1 is required."
                )
            validate_data(self, array, reset=reset, skip_check_array=True)
            columns = read_columns(array)
            _refuse_infinity(columns)
        else:
            columns = read_columns(np.asarray(read_numbers(self, array, reset=reset, accept_sparse=False)))
        if not reset and self._sparse_family is None:
            names = self._table_names()
            columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
        return columns

    def _table_names(self) -> list[str]:
        """Names of the table's columns, as they were in training."""
        return [plan.name for plan in self._plan_table.columns]

    def _read_sparse(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset)
        X = without_duplicates(X if is_sparse(X) else csr_array(X))
        if reset:
            self._sparse_family = self._sparse_family_for(all_ones=bool((X.data == 1).all()))
            self._plan_table = TablePlan(())
        elif self._sparse_family is None:
            raise InputError("The model was fitted to a dense table, but X is sparse. Use X.toarray().")
        family = FAMILIES[str(self._sparse_family)]()
        wrong = ~family.in_support(X.data)
        if wrong.any():
            entry = int(np.flatnonzero(wrong)[0])
            row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
            raise InputError(
                f"Row {row}, column {self._feature_names()[int(X.indices[entry])]!r} holds {X.data[entry].item()!r}, "
                f"but a {family.name} column holds {family.support}."
            )
        return (sparse_block(X, binary=self._sparse_family == "bernoulli"),)

    def _sparse_family_for(self, *, all_ones: bool) -> str:
        asked = self.families
        if asked is None:
            asked = "bernoulli" if all_ones else "multinomial"
        if asked not in SPARSE_FAMILIES:
            raise InputError(
                f"X is sparse, and families is {asked!r}; sparse columns can be one of {SPARSE_FAMILIES}, the same "
                "for all. Use a dense table for other families."
            )
        return str(asked)

    def _check_unknown(self) -> None:
        if self.handle_unknown not in UNKNOWN:
            raise InputError(
                f"handle_unknown is {self.handle_unknown!r}; choose one of {', '.join(map(repr, UNKNOWN))}."
            )

    def _family_names(self) -> dict[str, str]:
        """The family of each column."""
        if self._sparse_family is not None:
            return dict.fromkeys(self._feature_names(), self._sparse_family)
        return {plan.name: plan.family_name for plan in self._plan_table.columns}

    # ---- the model
    def _families(self) -> tuple[ColumnFamily, ...]:
        if self._sparse_family is not None:
            return (FAMILIES[self._sparse_family](),)
        return self._plan_table.families(
            with_unseen=self.handle_unknown == "smooth", shared_variance=self.shared_variance
        )

    def _table_priors(self, gaussian: MomentPrior, n_components: int) -> tuple[Any, ...]:
        """A prior per block: the one given for its family, ``gaussian``, or ``alpha`` pseudo-observations."""
        given = self.feature_prior or {}
        if not isinstance(given, dict):
            raise InputError("feature_prior is to be a dict from the name of a family to its prior.")
        result: list[Any] = []
        widths = [self.n_features_in_]
        if self._sparse_family is None:
            widths = [len(members) for _, members in self._plan_table.groups()]
        for family, width in zip(self._families(), widths, strict=True):
            if family.name in given:
                result.append(table_counts(given[family.name], self.estimate, family, width, n_components))
            elif family.prior_class is MomentPrior:
                result.append(gaussian)
            else:
                result.append(PseudoCounts(np.asarray(float(self.alpha))))
        return tuple(result)

    # ---- telling
    def column_report(self) -> str:
        """Which family each column got, and why, as text."""
        if not hasattr(self, "_plan_table"):
            check_is_fitted(self, "params_")
        if self._sparse_family is not None:
            return f"all {self.n_features_in_} sparse columns: {self._sparse_family}"
        width = max(len(plan.name) for plan in self._plan_table.columns)
        lines = []
        for plan in self._plan_table.columns:
            values = "" if plan.categories is None else f", {len(plan.categories)} values"
            lines.append(f"{plan.name:<{width}}  {plan.family_name} ({plan.reason}{values})")
        return "\n".join(lines)

    def _feature_names(self) -> list[str]:
        plan = getattr(self, "_plan_table", None)
        return [column.name for column in plan.columns] if plan and plan.columns else super()._feature_names()

    def _block_categories(self) -> list[list[Any] | None]:
        """The values of every block column that has a list of them."""
        if self._sparse_family is not None:
            return [None] * self.n_features_in_
        plans = [self._plan_table.columns[int(j)] for j in self._plan_table.order()]
        return [None if plan.categories is None else list(plan.categories) for plan in plans]

    def _feature_order(self) -> NDArray[Any] | None:
        return None if self._sparse_family is not None else self._plan_table.order()

    def top_features(self, k: int = 10, *, feature_names: Any = None) -> dict[Any, list[tuple[str, float]]]:
        """The features that speak most for each class; of a categorical column, the values that do.

        Parameters
        ----------
        k : int
            How many per class.
        feature_names : sequence of str, optional
            Names of the columns of X; by default those it came with, else x0, x1, ...
        """
        check_is_fitted(self, "params_")
        weight = np.exp(self.params_.log_weights)
        names: list[str] = []
        scores: list[Any] = []
        block_names, start = self._block_feature_names(feature_names), 0
        for family, params in zip(self.model_.families, self.params_.blocks, strict=True):
            if isinstance(family, Categorical):
                scores.append(family.value_telling(params, weight))
                for j, size in enumerate(np.diff(family.offsets)):
                    values = [*(self._plan_table.columns[self._plan_table.order()[start + j]].categories or ("",))]
                    names.extend(f"{block_names[start + j]}={v}" for v in values)
                    names.extend(["(unseen)"] * (int(size) - len(values)))
                start += len(family.n_values)
            else:
                scores.append(family.telling(params, weight))
                names.extend(block_names[start : start + scores[-1].shape[0]])
                start += scores[-1].shape[0]
        return self._best_of(np.concatenate(scores, axis=0), names, k)

    # ---- generating
    def _draw(self, n_samples: int, components: NDArray[Any], rng: np.random.Generator) -> Any:
        if self._sparse_family is not None:
            return super()._draw(n_samples, components, rng)
        columns: dict[str, Any] = {}
        for (_, members), family, params in zip(
            self._plan_table.groups(), self.model_.families, self.params_.blocks, strict=True
        ):
            drawn = family.draw(params, components, rng)
            for place, j in enumerate(members):
                plan = self._plan_table.columns[j]
                values = drawn[:, place]
                if plan.categories is not None:
                    table = np.empty(len(plan.categories), dtype=object)
                    table[:] = plan.categories
                    values = table[values]
                columns[plan.name] = values
        ordered = {plan.name: columns[plan.name] for plan in self._plan_table.columns}
        backend = getattr(self, "_backend_name", None)
        if backend is not None:
            import narwhals.stable.v2 as nw

            return nw.from_dict({n: v.tolist() for n, v in ordered.items()}, backend=backend).to_native()
        if all(values.dtype.kind != "O" for values in ordered.values()):
            return np.column_stack(list(ordered.values()))
        return np.column_stack([values.astype(object) for values in ordered.values()])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _as_array(X: Any) -> NDArray[Any]:
    """A list of rows as an array: numbers if all cells are, else objects."""
    if isinstance(X, Mapping):
        raise InputError(
            f"X is a {type(X).__name__} of columns; expected rows. Make it a table: pandas.DataFrame(X), "
            "polars.DataFrame(X) or pyarrow.table(X)."
        )
    try:
        array = np.asarray(X)
    except ValueError:
        array = np.asarray(X, dtype=object)
    if array.dtype.kind in "US" or (array.dtype == object and array.ndim == 2):
        objects = np.empty(array.shape, dtype=object)
        objects[...] = [list(row) for row in X] if array.ndim == 2 else list(X)
        return objects
    return array


def _refuse_infinity(columns: list[Column]) -> None:
    for column in columns:
        if column.values.dtype.kind == "f" and np.isinf(column.values).any():
            row = int(np.flatnonzero(np.isinf(column.values))[0])
            raise InputError(
                f"Input X contains infinity or a value too large: row {row}, column {column.name!r} holds "
                f"{column.values[row]}. Correct it, or make it missing (NaN)."
            )
