"""Random arguments for kernels. Hypothesis draws the sizes, the types and a seed; NumPy fills the arrays."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

N_CLASSES = st.sampled_from([1, 2, 3, 4, 5, 8, 17, 33, 100])
SEEDS = st.integers(0, 2**32 - 1)
COUNT_TYPES = ("float64", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@dataclass
class Case:
    """Sizes and a random generator."""

    rng: np.random.Generator
    n_rows: int
    n_features: int
    n_classes: int

    def table(self, n_rows=None, impossible=0.1):
        """Log-probabilities, some of them -inf."""
        table = self.rng.normal(size=(self.n_features if n_rows is None else n_rows, self.n_classes)) * 3
        table[self.rng.random(table.shape) < impossible] = -np.inf
        return table

    def resp(self):
        """Weighted responsibilities, some rows and some cells zero."""
        resp = self.rng.random((self.n_rows, self.n_classes))
        resp[self.rng.random(resp.shape) < 0.2] = 0.0
        resp[self.rng.random(self.n_rows) < 0.2] = 0.0
        return resp

    def start(self, *shape):
        """What an output holds before it is added to."""
        return self.rng.normal(size=shape)

    def class_codes(self):
        return self.rng.integers(-1, self.n_classes, size=self.n_rows).astype(np.int32)

    def weight(self):
        """Row weights, some zero; or none."""
        if self.rng.random() < 0.3:
            return None
        weight = self.rng.random(self.n_rows) * 3
        weight[self.rng.random(self.n_rows) < 0.2] = 0.0
        return weight

    def counts(self, dtype="float64", density=0.4, largest=5):
        """A dense table of counts with empty rows and columns."""
        X = self.rng.integers(1, largest + 1, size=(self.n_rows, self.n_features)).astype(dtype)
        X[self.rng.random(X.shape) >= density] = 0
        if self.n_features:
            X[:, self.rng.integers(self.n_features)] = 0
        return X

    def reals(self, dtype="float64", missing=0.1):
        """A dense table of real numbers, NaN where missing."""
        X = (self.rng.normal(size=(self.n_rows, self.n_features)) * 2 + 1).astype(dtype)
        X[self.rng.random(X.shape) < missing] = np.nan
        return X


@st.composite
def cases(draw, max_rows=40, max_features=40, classes=N_CLASSES):
    return Case(
        rng=np.random.default_rng(draw(SEEDS)),
        n_rows=draw(st.integers(0, max_rows)),
        n_features=draw(st.integers(0, max_features)),
        n_classes=draw(classes),
    )


def sparse_chunk(X, index_type="int32", *, before=3, binary=False, explicit_zeros=True, seed=0):
    """The CSR arrays of a larger matrix in which X is a chunk that begins after `before` rows.

    Returns indptr of the chunk, and indices and data of the whole matrix.
    """
    rng = np.random.default_rng(seed)
    whole = np.vstack([np.ones((before, X.shape[1]), X.dtype), X, np.ones((2, X.shape[1]), X.dtype)])
    stored = whole != 0
    if explicit_zeros and not binary:
        stored |= rng.random(whole.shape) < 0.1
    pattern = csr_array(stored)
    rows = np.repeat(np.arange(whole.shape[0]), np.diff(pattern.indptr))
    data = None if binary else whole[rows, pattern.indices]
    indptr = pattern.indptr[before : before + X.shape[0] + 1].astype(index_type)
    return indptr, pattern.indices.astype(index_type), data
