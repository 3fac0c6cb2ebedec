"""Rows of word counts: dense, sparse, or lists of word ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators._tables import (
    check_counts,
    dense_block,
    is_sparse,
    read_numbers,
    sparse_block,
)
from softcount.estimators._word_ids import is_nested, is_ragged, word_ids_to_counts
from softcount.estimators.distant.surveys import RowsSurvey
from softcount.families.blocks import Block
from softcount.families.columns import ColumnFamily
from softcount.families.multinomial import Multinomial

__all__ = ["WordRows"]


class WordRows(GenerativeEstimator):
    """An estimator of documents as counts of words."""

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        reads_word_ids = is_ragged(X) if reset else self._reads_word_ids and is_nested(X)
        if reads_word_ids:
            X = word_ids_to_counts(X, None if reset else self.n_features_in_)
        X = read_numbers(self, X, reset=reset, check_finite=False)
        seen = check_counts(X, self._feature_names, self)
        if reset:
            self._reads_word_ids = reads_word_ids
            self._mean_length = seen.total / max(int(X.shape[0]), 1)
        block = sparse_block if is_sparse(X) else dense_block
        return (block(X, has_missing=seen.has_missing),)

    def _survey_columns(self, X: Any) -> RowsSurvey:
        if is_ragged(X):
            raise InputError(
                "Lists of word ids in batches say nothing of how many words there are. Give batches of counts, sparse "
                "ones for example."
            )
        found: RowsSurvey = super()._survey_columns(X)
        return replace(found, total=self._mean_length * int(X.shape[0]))

    def _settle_columns(self, found: RowsSurvey, n_rows: int) -> tuple[tuple[Block, ...], float]:
        self._mean_length = found.total / max(n_rows, 1)
        self._reads_word_ids = False
        return super()._settle_columns(found, n_rows)

    #: Whether documents were given as lists of word ids, so that lists are read as such from then on.
    _reads_word_ids = False

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (Multinomial(),)

    def _draw(self, n_samples: int, components: Any, rng: np.random.Generator) -> Any:
        from scipy.sparse import csr_array

        lengths = rng.poisson(self._mean_length, n_samples)
        rows = Multinomial().draw(self.params_.blocks[0], components, rng, lengths)
        return csr_array(rows) if self._was_sparse() else rows

    def _was_sparse(self) -> bool:
        return self.n_features_in_ > 2000

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
