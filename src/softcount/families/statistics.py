"""Sufficient statistics: what a pass over the rows leaves behind.

Two kinds cover every family. :class:`Sums` holds plain weighted sums, merged by addition. :class:`Moments`
holds a weight, a mean and a scatter about that mean, merged by the pairwise update of Chan, Golub and
LeVeque (1979), because sums of squares lose every digit of a variance of 1 around a mean of 1e8.

Both can be scaled by any factor and added, so linear combinations of statistics are statistics as well (with
coefficients that sum to one they keep every linear constraint, which is what the accelerator in
:mod:`softcount.core.accelerate` relies on).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

import numpy as np

from softcount._types import FloatArray, IntArray

__all__ = ["Moments", "Statistics", "Sums"]

#: Bytes from which on a table is added to where it lies, instead of making a third one of the two.
LARGE = 2**16


@runtime_checkable
class Statistics(Protocol):
    """Additive statistics of one block of columns."""

    def __add__(self, other: Self) -> Self: ...

    def absorb(self, other: Self) -> Self:
        """The sum of both, for an owner of these statistics who needs them no more: may be written over them."""
        ...

    def scaled(self, factor: float) -> Self:
        """Every weight multiplied by ``factor``."""
        ...

    def arrays(self) -> dict[str, FloatArray]:
        """The arrays by name, for checkpoints and for moving between machines."""
        ...

    def clipped(self) -> Self:
        """The nearest statistics that some data could have produced (no negative weight or scatter)."""
        ...


@dataclass(frozen=True)
class Sums:
    """Weighted sums by name; merging is addition.

    Examples
    --------
    >>> import numpy as np
    >>> (Sums({"sum": np.array([1.0, 2.0])}) + Sums({"sum": np.array([3.0, 4.0])})).values["sum"]
    array([4., 6.])
    """

    values: Mapping[str, FloatArray]
    #: Sums that may be negative: those of logarithms, of cosines.
    signed: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> FloatArray:
        return self.values[name]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __add__(self, other: Self) -> Self:
        return replace(self, values={name: value + other.values[name] for name, value in self.values.items()})

    def absorb(self, other: Self) -> Self:
        """Both together; sums that are large are added to where they lie."""

        def merged(value: FloatArray, more: FloatArray) -> FloatArray:
            if value.nbytes < LARGE or value.shape != more.shape or not value.flags.writeable:
                return value + more
            return np.add(value, more, out=value)

        return replace(self, values={name: merged(value, other.values[name]) for name, value in self.values.items()})

    def scaled(self, factor: float) -> Self:
        """Every sum multiplied by ``factor``."""
        return self._each(lambda value: factor * value)

    def arrays(self) -> dict[str, FloatArray]:
        """The sums by name."""
        return dict(self.values)

    def clipped(self) -> Self:
        """Negative sums set to zero, but for those that may be negative."""
        kept = {name: self.values[name] for name in self.signed}
        return replace(self, values={name: np.maximum(value, 0.0) for name, value in self.values.items()} | kept)

    def pooled(self) -> Self:
        """The same sums with all classes taken together: shape ``(..., 1)``."""
        return self._each(lambda value: np.asarray(value.sum(axis=-1, keepdims=True)))

    def take(self, classes: IntArray) -> Self:
        """The statistics of the given classes, in that order."""
        return self._each(lambda value: value[..., classes])

    def _each(self, change: Callable[[FloatArray], FloatArray]) -> Self:
        return replace(self, values={name: change(value) for name, value in self.values.items()})


@dataclass(frozen=True)
class Moments:
    r"""Weight, mean and scatter about the mean, per column and class or per class with a full scatter matrix.

    Merging two parts ``a`` and ``b`` with weights :math:`w_a, w_b` (:math:`w = w_a + w_b`,
    :math:`\delta = m_b - m_a`):

    .. math:: m = m_a + \delta w_b / w, \qquad S = S_a + S_b + \delta\delta^\top w_a w_b / w .

    Attributes
    ----------
    weight : array of shape (n_features, n_classes)
        Total weight of the observed cells. With a full scatter the rows are equal: a row is counted as a
        whole.
    mean : array of shape (n_features, n_classes)
        Weighted mean; zero where the weight is zero.
    scatter : array of shape (n_features, n_classes) or (n_classes, n_features, n_features)
        Weighted sum of squared deviations (outer products) from the mean.
    """

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray

    @property
    def is_full(self) -> bool:
        """Whether the scatter is a matrix per class."""
        return self.scatter.ndim == 3

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(weight != 0.0, other.weight / weight, 0.0)
        # A part without weight has a meaningless mean: take the other's.
        delta = np.where((self.weight == 0.0) | (other.weight == 0.0), 0.0, other.mean - self.mean)
        mean = np.where(self.weight == 0.0, other.mean, self.mean + delta * share)
        between = np.where(self.weight == 0.0, 0.0, self.weight * share)
        outer = delta.T[:, :, None] * (delta * between[0]).T[:, None, :] if self.is_full else delta * delta * between
        return Moments(weight, mean, self.scatter + other.scatter + outer)

    def absorb(self, other: Moments) -> Moments:
        """Both together."""
        return self + other

    def scaled(self, factor: float) -> Moments:
        """The moments of the same rows, each weighted ``factor`` times as much."""
        return Moments(factor * self.weight, self.mean, factor * self.scatter)

    def arrays(self) -> dict[str, FloatArray]:
        """Weight, mean and scatter by name."""
        return {"weight": self.weight, "mean": self.mean, "scatter": self.scatter}

    def clipped(self) -> Moments:
        """Negative weights and scatters set to zero (full scatters: negative eigenvalues)."""
        if self.is_full:
            values, vectors = np.linalg.eigh(self.scatter)
            scatter = np.einsum("kde,ke,kfe->kdf", vectors, np.maximum(values, 0.0), vectors)
        else:
            scatter = np.maximum(self.scatter, 0.0)
        return Moments(np.maximum(self.weight, 0.0), self.mean, scatter)

    def pooled(self) -> Moments:
        """The moments with all classes taken together: the class axis has length one."""
        total = self.take(np.array([0]))
        for k in range(1, self.weight.shape[-1]):
            total = total + self.take(np.array([k]))
        return total

    def take(self, classes: IntArray) -> Moments:
        """The moments of the given classes, in that order."""
        scatter = self.scatter[classes] if self.is_full else self.scatter[:, classes]
        return Moments(self.weight[:, classes], self.mean[:, classes], scatter)
