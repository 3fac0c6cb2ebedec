"""Names for the arrays the package passes around. The shapes stand in each docstring that uses them."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

#: Categories or classes as codes 0, 1, 2 …; -1 stands for "missing" or "unknown".
CodesArray: TypeAlias = NDArray[np.int32]


class SparseArray(Protocol):
    """A table in compressed sparse row form, as ``scipy.sparse.csr_array`` and ``csr_matrix`` hold it.

    Row ``i`` has the values ``data[indptr[i]:indptr[i + 1]]`` in the columns
    ``indices[indptr[i]:indptr[i + 1]]``; every other entry is zero.
    """

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n_rows, n_columns)``."""
        ...


#: A table of numbers as it reaches the models: one row per sample.
Table: TypeAlias = FloatArray | SparseArray
