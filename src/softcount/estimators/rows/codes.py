"""Rows of categories as codes 0, 1, 2, ...; NaN is a missing value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import IntArray
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._tables import (
    read_codes,
    read_numbers,
)
from softcount.estimators.distant.surveys import check_same_columns
from softcount.families.blocks import Block, CodesBlock
from softcount.families.categorical import Categorical
from softcount.families.columns import ColumnFamily

__all__ = ["UNKNOWN", "CodeRows"]

#: Columns with more values than this need at least one row for every hundred of them.
LARGEST_TABLE = 10**7
UNKNOWN = ("ignore", "error", "smooth")


@dataclass(frozen=True)
class CodesSurvey:
    """The largest code of every column in some rows, and the type that holds them."""

    names: tuple[Any, ...] | None
    largest: IntArray
    dtype: Any

    def __add__(self, other: CodesSurvey) -> CodesSurvey:
        check_same_columns((self.names, self.largest.size), (other.names, other.largest.size))
        largest = np.maximum(self.largest, other.largest)
        return CodesSurvey(self.names, largest, np.result_type(self.dtype, other.dtype))


class CodeRows(GenerativeEstimator):
    """An estimator of categorical columns given as codes."""

    min_categories: Any
    handle_unknown: str

    def _check_unknown(self) -> None:
        if self.handle_unknown not in UNKNOWN:
            raise InputError(
                f"handle_unknown is {self.handle_unknown!r}; choose one of {', '.join(map(repr, UNKNOWN))}."
            )

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset, accept_sparse=False)
        scoring = not (reset or self._is_counting)
        codes, largest = read_codes(X, self._feature_names, type(self).__name__, clip=scoring)
        if scoring:
            family = self._fitted_family()
            codes = self._mark_unknown(codes, X, family)
        else:
            n_values = self._count_values(largest, codes.shape[0])
            if not reset:
                n_values = np.maximum(n_values, self._fitted_family().n_values)
            family = Categorical(tuple(n_values.tolist()), self.handle_unknown == "smooth")
            self._counted_family = family
        return (CodesBlock(codes, family.offsets),)

    # ---- rows that come in batches
    def _survey_columns(self, X: Any) -> CodesSurvey:
        X = read_numbers(self, X, reset=True, accept_sparse=False)
        codes, largest = read_codes(X, self._feature_names, type(self).__name__)
        names = getattr(self, "feature_names_in_", None)
        return CodesSurvey(None if names is None else tuple(names.tolist()), largest, codes.dtype)

    def _settle_columns(self, found: CodesSurvey, n_rows: int) -> tuple[tuple[Block, ...], float]:
        self._settle_names(found.names, found.largest.size)
        n_values = self._count_values(found.largest, n_rows)
        self._counted_family = Categorical(tuple(n_values.tolist()), self.handle_unknown == "smooth")
        layout = CodesBlock(np.empty((0, n_values.size), dtype=found.dtype), self._counted_family.offsets)
        return (layout,), float(n_values.size)

    def _read_batch(self, X: Any, layout: tuple[Block, ...]) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=False, accept_sparse=False)
        codes, _ = read_codes(X, self._feature_names, type(self).__name__)
        shown: Any = layout[0]
        return (CodesBlock(codes.astype(shown.codes.dtype, copy=False), shown.offsets),)

    #: Whether rows are being read to be counted (then new values are learned) rather than to be scored.
    _is_counting = False
    #: The columns' values as the rows last counted have them; the fitted ones are the model's.
    _counted_family: Categorical

    def _fitted_family(self) -> Categorical:
        family = self.model_.families[0]
        assert isinstance(family, Categorical)
        return family

    def _count_values(self, largest: IntArray, n_rows: int) -> IntArray:
        """How many values each column has: as many as its largest code says, and at least ``min_categories``."""
        found = np.maximum(largest + 1, 1)
        column = int(np.argmax(found))
        if found[column] > LARGEST_TABLE and found[column] > 100 * n_rows:
            raise InputError(
                f"Column {self._feature_names()[column]!r} holds the code {int(found[column]) - 1}, so its table would "
                f"need {int(found[column])} values for {n_rows} rows. Recode the categories as 0, 1, 2, ..., or use "
                "NaiveBayes, which learns the categories that occur."
            )
        if self.min_categories is not None:
            fewest = np.asarray(self.min_categories)
            if not np.issubdtype(fewest.dtype, np.signedinteger):
                raise InputError(f"'min_categories' should have integral type. Got {fewest.dtype} instead.")
            if fewest.ndim and fewest.shape != found.shape:
                raise InputError(
                    f"'min_categories' should have shape ({found.shape[0]},) when an array-like is provided. "
                    f"Got {fewest.shape} instead."
                )
            if (fewest < 1).any():
                raise InputError(f"min_categories is {self.min_categories!r}; a column has at least one value.")
            found = np.maximum(found, fewest)
        return np.asarray(found, dtype=np.int64)

    def _mark_unknown(self, codes: NDArray[Any], X: NDArray[Any], family: Categorical) -> NDArray[Any]:
        n_values = np.asarray(family.n_values)
        unknown = codes >= n_values
        if not unknown.any():
            return codes
        if self.handle_unknown == "error":
            row, column = (int(i) for i in np.argwhere(unknown)[0])
            raise InputError(
                f"Row {row}, column {self._feature_names()[column]!r} holds the category {X[row, column]}, which was "
                f"not seen in training (0 to {int(n_values[column]) - 1} were). Use handle_unknown='ignore' to leave "
                "such cells out, or 'smooth' to give them a small probability."
            )
        wide = codes.astype(np.int32)
        return np.where(unknown, n_values.astype(np.int32) if family.with_unseen else np.int32(-1), wide)

    def _block_categories(self) -> list[list[Any] | None]:
        return [list(range(n_values)) for n_values in self._fitted_family().n_values]

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (self._counted_family,)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
