"""One thread inside the libraries we call while our own threads share out the rows, or where there are few rows.

Small products gain nothing from threads inside BLAS, several of our threads would wait for each other's, and
the bits of a product may depend on how many there are. The same holds for the OpenMP loops of scikit-learn's
k-means, whose threads spin while they wait: with a thousand rows and busy cores that is most of their time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

# A library has to be loaded to be found: the BLAS of SciPy, and the OpenMP of scikit-learn.
import scipy.linalg  # noqa: F401
from sklearn.utils import parallel
from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded_blas", "single_threaded_openmp"]

#: Looking for them takes longer than a small fit: it is done with the imports, once for us and scikit-learn's k-means.
_LOADED = getattr(parallel, "_get_threadpool_controller", ThreadpoolController)()
_BLAS, _OPENMP = _LOADED.select(user_api="blas"), _LOADED.select(user_api="openmp")


def single_threaded_blas() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread.

    Examples
    --------
    >>> with single_threaded_blas():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _BLAS.limit(limits=1)
    return limited


def single_threaded_openmp() -> AbstractContextManager[Any]:
    """A context in which the OpenMP loops that this thread starts use one thread.

    Examples
    --------
    >>> with single_threaded_openmp():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _OPENMP.limit(limits=1)
    return limited
