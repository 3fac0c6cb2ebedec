"""A generative and a discriminative model of one table, which read its rows by number.

Learning curves fit both models to many samples of the same rows; texts are counted and categories coded once for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline, make_pipeline

from softcount.core.patterns import take_rows
from softcount.estimators._choosing import Outcome
from softcount.estimators.logistic import LogisticRegression
from softcount.estimators.naive_bayes._base import BaseNaiveBayes
from softcount.estimators.table.classifier import TableClassifier
from softcount.estimators.table.settings import Setting
from softcount.estimators.table.treatment import Treatment
from softcount.families.blocks import Block, CodesBlock, DenseBlock

__all__ = ["CodedTable", "NumberedNaiveBayes", "NumberedRows", "discriminative_twin"]


@dataclass(frozen=True)
class CodedTable:
    """A table that has been read: its blocks, and the same as one matrix.

    Attributes
    ----------
    treatment : Treatment
    blocks : tuple of Block
    """

    treatment: Treatment
    blocks: tuple[Block, ...]
    _design: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self.blocks[0].n_rows

    def design(self) -> csr_array:
        """Counts of words, an indicator per category, and numbers of mean zero and variance one; a hole is zero."""
        if not self._design:
            parts = [_as_columns(block) for block in self.blocks]
            self._design.append(csr_array(hstack(parts, format="csr")))
        found: csr_array = self._design[0]
        return found


def _as_columns(block: Block) -> csr_array:
    if isinstance(block, CodesBlock):
        rows, columns = np.nonzero(block.codes >= 0)
        places = block.codes[rows, columns] + np.asarray(block.offsets)[columns]
        shape = (block.n_rows, int(block.offsets[-1]))
        return csr_array((np.ones(rows.size), (rows, places)), shape=shape)
    if isinstance(block, DenseBlock):
        values = np.asarray(block.values, dtype=np.float64)
        spread = np.nanstd(values, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.where(spread > 0.0, (values - np.nanmean(values, axis=0)) / spread, 0.0)
        return csr_array(np.nan_to_num(scaled, nan=0.0))
    data = np.ones(block.indices.shape[0]) if block.data is None else np.asarray(block.data, dtype=np.float64)
    return csr_array((data, block.indices, block.indptr), shape=(block.n_rows, block.n_columns))


class NumberedNaiveBayes(TableClassifier):
    """Naive Bayes of the rows of a :class:`CodedTable`; X holds their numbers.

    Parameters
    ----------
    table : CodedTable
    """

    def __init__(self, table: CodedTable) -> None:
        self.table = table
        super().__init__(unlabeled_weight=0.0, calibrate="none")
        self.treatment_, self.setting_ = table.treatment, Setting("multinomial", 1.0)

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.table)

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        rows = np.asarray(X).ravel()
        if reset:
            self.n_features_in_ = 1
        return tuple(take_rows(block, rows) for block in self.table.blocks)

    def _fit_with_choice(self, *arguments: Any) -> Outcome:
        # Nothing is chosen, and nothing held out: the samples of the curves are.
        return BaseNaiveBayes._fit_with_choice(self, *arguments)


class NumberedRows(TransformerMixin, BaseEstimator):
    """The rows of a :class:`CodedTable` as one matrix; X holds their numbers.

    Parameters
    ----------
    table : CodedTable
    """

    def __init__(self, table: CodedTable) -> None:
        self.table = table

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.table)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing is learned: the table has been read."""
        return self

    def transform(self, X: Any) -> csr_array:
        """The rows of these numbers."""
        return self.table.design()[np.asarray(X).ravel()]

    def __sklearn_is_fitted__(self) -> bool:
        return True


def discriminative_twin(table: CodedTable) -> Pipeline:
    """Logistic regression of the rows of a table; X holds their numbers.

    Parameters
    ----------
    table : CodedTable
    """
    return make_pipeline(NumberedRows(table), LogisticRegression())
