"""The prior of means and variances, as rows and degrees of freedom added to the moments of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.families.statistics import Moments

__all__ = ["MomentPrior", "as_column", "with_pseudo_rows"]


@dataclass(frozen=True)
class MomentPrior:
    r"""Prior of means and variances: pseudo-rows, extra degrees of freedom, and a variance floor.

    With the data's weight :math:`w`, mean and scatter merged with the prior's pseudo-rows (as
    :class:`~softcount.families.statistics.Moments` merge), the variance is

    .. math:: v = \frac{S + S_0}{w + \nu} + \varepsilon .

    A variance that several classes or columns share has this prior once. :mod:`softcount.families.priors` makes such
    priors from normal-inverse-gamma and normal-inverse-Wishart densities.

    Attributes
    ----------
    weight, mean : float or array
        Weight and mean of the pseudo-rows that the mean is drawn towards.
    scatter, dof : float or array
        :math:`S_0` and :math:`\nu`: numbers, arrays that broadcast to (n_columns, n_classes), or for full covariances
        matrices and a :math:`\nu` per class. An infinite ``dof`` fixes the (co)variance at ``scatter``.
    smoothing : float
        The floor as a share of the largest variance of any column.
    floor : float or None
        The floor :math:`\varepsilon` itself; ``None`` means ``smoothing`` still has to be applied to the data.
    bound : array of shape (n_columns,) or None
        Smallest variances, as a constraint: see :mod:`softcount.families.covariance`.
    bound_share : float
        Smallest variances as a share of each column's own, for a ``bound`` that has yet to be worked out.
    relative : pair of arrays or None
        What is to be added to ``scatter`` and ``dof`` per unit of the rows' total weight, once that is known.
    """

    weight: float | FloatArray = 0.0
    mean: float | FloatArray = 0.0
    scatter: float | FloatArray = 0.0
    dof: float | FloatArray = 0.0
    smoothing: float = 1e-9
    floor: float | None = None
    bound: FloatArray | None = None
    bound_share: float = 0.0
    relative: tuple[FloatArray, FloatArray] | None = None

    @classmethod
    def column_by_column(cls, share: float) -> MomentPrior:
        """Nothing but smallest variances, as a share of each column's own: the units of one say nothing of another."""
        return cls(smoothing=0.0, floor=0.0, bound_share=share)

    def settled(self, total: float) -> MomentPrior:
        """The prior with what it holds per unit of weight added for rows of weight ``total``."""
        if self.relative is None:
            return self
        scatter, dof = self.relative
        return replace(self, scatter=self.scatter + total * scatter, dof=self.dof + total * dof, relative=None)

    @property
    def awaits_bound(self) -> bool:
        """Whether the bound still has to be worked out from the columns' variances."""
        return self.bound is None and self.bound_share > 0.0

    def take(self, classes: IntArray) -> MomentPrior:
        """The prior of the given classes: the same for all."""
        return self


def with_pseudo_rows(statistics: Moments, prior: MomentPrior) -> Moments:
    """The moments merged with the prior's pseudo-rows, which sit at one point."""
    if not np.any(prior.weight):
        return statistics
    shape = statistics.mean.shape
    mean = as_column(prior.mean)
    weight = np.broadcast_to(np.asarray(prior.weight, dtype=np.float64), shape)
    return statistics + Moments(weight, np.broadcast_to(mean, shape), np.zeros_like(statistics.scatter))


def as_column(value: float | FloatArray) -> FloatArray:
    """One number per column of the data as a column of a table; a single number for all of them as it is."""
    array = np.asarray(value, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array
