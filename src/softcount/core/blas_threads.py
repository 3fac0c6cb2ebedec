"""One BLAS thread while our own threads share out the rows.

Small products gain nothing from threads inside BLAS, several of our threads would wait for each other's, and
the bits of a product may depend on how many there are.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

__all__ = ["single_threaded_blas"]


@lru_cache(maxsize=1)
def _controller() -> Any:
    # Comes with scikit-learn. Finding the libraries takes milliseconds, so it is done once.
    import scipy.linalg  # noqa: F401  (its BLAS has to be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread.

    Examples
    --------
    >>> with single_threaded_blas():
    ...     pass
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
