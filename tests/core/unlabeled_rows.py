"""Rows with few labels, as the tests of the choice about unlabeled rows need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcount.core.chunks import Chunks, chunk_rows
from softcount.core.execute import ThreadExecutor
from softcount.core.learn import Plan
from softcount.core.mixture import MixtureModel
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import PseudoCounts
from softcount.families.multinomial import Multinomial
from softcount.inputs.labels import Labels


def text_like(
    n_rows: int,
    n_words: int,
    n_classes: int,
    seed: int,
    *,
    length: float = 60.0,
    burst: float = 200.0,
    share: float = 0.4,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Word counts of documents that repeat their words: classes share most words, and each document has its favorites.

    A document's words come from a distribution drawn around that of its class; ``burst`` is the number of words its
    class is worth in that draw, ``share`` the part of it that belongs to the class alone.
    """
    rng = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, n_words + 1)
    y = rng.integers(n_classes, size=n_rows)
    own = rng.dirichlet(np.full(n_words, 0.05), size=n_classes)
    topics = (1.0 - share) * common / common.sum() + share * own
    lengths = 1 + rng.poisson(rng.gamma(2.0, length / 2.0, n_rows))
    favorites = rng.gamma(np.maximum(burst * topics[y], 1e-9))
    favorites /= favorites.sum(axis=1, keepdims=True)
    counts = [rng.multinomial(n, p) for n, p in zip(lengths, favorites, strict=True)]
    return np.array(counts, dtype=np.float64), y


def with_few_labels(y: NDArray[Any], per_class: int, seed: int) -> NDArray[np.float64]:
    """The labels of some rows of each class, and NaN for the others."""
    rng = np.random.default_rng(seed)
    kept = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:per_class] for k in np.unique(y)])
    few = np.full(y.size, np.nan)
    few[kept] = y[kept]
    return few


def multinomial_model(n_classes: int, alpha: float = 1.0) -> MixtureModel:
    """Naive Bayes of words, as for the labeled rows alone."""
    return MixtureModel((Multinomial(),), (PseudoCounts(np.asarray(alpha)),), np.arange(n_classes), n_classes)


def as_chunks(X: Any, y: NDArray[Any], n_classes: int, weight: NDArray[Any] | None = None) -> Chunks:
    """Rows and labels as the library passes them around."""
    codes = np.where(np.isnan(y), -1, np.nan_to_num(y)).astype(np.int32)
    block: Block
    if isinstance(X, csr_array):
        block = SparseBlock(X.indptr, X.indices, X.data, X.shape[1])
    else:
        block = DenseBlock(np.asarray(X, dtype=np.float64))
    return Chunks((block,), Labels(codes, n_classes), weight, rows_per_chunk=chunk_rows(n_classes))


class CountingExecutor(ThreadExecutor):
    """Counts the rows it passes over, and presses Ctrl-C in the pass it is told to."""

    def __init__(self, stop_at: int | None = None) -> None:
        super().__init__(1)
        self.rows = 0
        self.passes = 0
        self.stop_at = stop_at

    def reduce(self, tally: Callable[[Sequence[Any]], Any], chunks: Any, *, counts_bytes: int = 0) -> Any:
        """One pass."""
        self.passes += 1
        if self.passes == self.stop_at:
            raise KeyboardInterrupt
        self.rows += chunks.n_rows
        return super().reduce(tally, chunks, counts_bytes=counts_bytes)


PLAN = Plan()
