"""Rows of independent counts of events, dense or sparse."""

from __future__ import annotations

from typing import Any

from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._tables import (
    check_counts,
    dense_block,
    is_sparse,
    read_numbers,
    sparse_block,
    without_duplicates,
)
from softcount.families.blocks import Block
from softcount.families.columns import ColumnFamily
from softcount.families.poisson import Poisson

__all__ = ["EventRows"]


class EventRows(GenerativeEstimator):
    """An estimator of Poisson columns."""

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset, check_finite=False)
        has_missing = check_counts(X, self._feature_names, self).has_missing
        if is_sparse(X):
            return (sparse_block(without_duplicates(X), has_missing=has_missing),)
        return (dense_block(X, has_missing=has_missing),)

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (Poisson(),)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
