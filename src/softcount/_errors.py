"""The errors and warnings softcount raises.

Every message says four things: what was found, where, what was expected, and what to do about it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning", "InputError", "KernelFallbackWarning", "SoftcountError"]


class SoftcountError(Exception):
    """The base of every error that softcount itself raises on purpose."""


class InputError(SoftcountError, ValueError):
    """Data, labels, weights or parameters that no model can be fitted to or asked about.

    It is a ``ValueError``, which is what scikit-learn's own tools catch.
    """


class KernelFallbackWarning(UserWarning):
    """The compiled kernels are absent and the slower NumPy/SciPy ones serve: same answers, more time."""


def __getattr__(name: str) -> Any:
    # scikit-learn's own class, so that existing filters apply; loaded late, for importing it takes a second.
    if name == "ConvergenceWarning":
        from sklearn.exceptions import ConvergenceWarning

        return ConvergenceWarning
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
