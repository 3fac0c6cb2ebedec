"""One thread inside the libraries we call while our own threads share out the rows, or where there are few rows.

Small products gain nothing from threads inside BLAS, several of our threads would wait for each other's, and
the bits of a product may depend on how many there are. The same holds for the OpenMP loops of scikit-learn's
k-means, whose threads spin while they wait: with a thousand rows and busy cores that is most of their time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

__all__ = ["single_threaded_blas", "single_threaded_openmp"]


@lru_cache(maxsize=2)
def _controller(api: str) -> Any:
    # Comes with scikit-learn. Finding the libraries takes milliseconds, so it is done once.
    if api == "blas":
        import scipy.linalg  # noqa: F401  (a library has to be loaded to be found)
    else:
        import sklearn.cluster  # noqa: F401  (likewise)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=api)


def single_threaded_blas() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread.

    Examples
    --------
    >>> with single_threaded_blas():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _controller("blas").limit(limits=1)
    return limited


def single_threaded_openmp() -> AbstractContextManager[Any]:
    """A context in which the OpenMP loops that this thread starts use one thread.

    Examples
    --------
    >>> with single_threaded_openmp():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _controller("openmp").limit(limits=1)
    return limited
