"""Array types of the kernels' arguments; every docstring states the shapes."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softcount._types import FloatArray

__all__ = ["ClassCodes", "FloatArray", "IndexArray", "NumberArray"]

#: Column numbers and row starts of a sparse matrix.
IndexArray: TypeAlias = NDArray[np.int32] | NDArray[np.int64]

#: One class per row, -1 for a row to be skipped.
ClassCodes: TypeAlias = NDArray[np.int32]

#: Numbers of any of the types a kernel's docstring lists.
NumberArray: TypeAlias = NDArray[Any]
