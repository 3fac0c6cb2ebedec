r"""What conjugate priors have in common: data turn them into distributions of the same kind.

A prior :math:`p(\theta) = f(\theta) / Z` with data :math:`x` becomes :math:`p(\theta \mid x) = f'(\theta) / Z'`, and
the probability of the data with the parameters averaged out is a quotient of normalizers,

.. math:: p(x_1, \dots, x_n) = \frac{Z'}{Z} \prod_i h(x_i) .
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.families._base import Family
from softcount.families.columns import ColumnFamily

__all__ = ["ConjugatePrior", "check_estimate", "checked_positive", "not_conjugate"]


class ConjugatePrior(ABC):
    """A distribution of a family's parameters that stays in its own family when data are seen."""

    @abstractmethod
    def log_normalizer(self) -> FloatArray:
        """Logarithm of the integral of the unnormalized density."""

    @abstractmethod
    def posterior(self, family: Family, x: ArrayLike, weight: ArrayLike | None = None) -> Self:
        """The distribution of the parameters after observations along the first axis.

        Parameters
        ----------
        family : Family
            What the observations are drawn from given the parameters.
        x : array-like
            Observations; missing numbers are left out, vectors must be complete.
        weight : array-like of shape (n_samples,), optional
            Weight of each observation; ``k`` means ``k`` copies of it.
        """

    @abstractmethod
    def log_predictive(self, family: Family, x: ArrayLike) -> FloatArray:
        """Log-probability of single observations with the parameters averaged out."""

    @abstractmethod
    def pseudo_counts(self, estimate: str = "mode", family: ColumnFamily | None = None) -> Any:
        """The prior in the form that :meth:`~softcount.families.ColumnFamily.solve` takes.

        Parameters
        ----------
        estimate : {"mode", "mean"}
            Whether solving gives the mode (MAP) or the mean of the posterior.
        family : ColumnFamily, optional
            The family of the columns, where the prior is conjugate to several.
        """

    def log_evidence(self, family: Family, x: ArrayLike, weight: ArrayLike | None = None) -> FloatArray:
        r""":math:`\log p(x_1, \dots, x_n) = \log Z' - \log Z + \sum_i w_i \log h(x_i)`."""
        values = np.asarray(x)
        after = self.posterior(family, x, weight).log_normalizer()
        base = family.log_base(values)
        if not family.event_ndim:
            base = np.where(family.missing(values), 0.0, base)
        share = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=np.float64)
        return np.asarray(after - self.log_normalizer() + np.tensordot(share, base, axes=(0, 0)))


def not_conjugate(prior: object, family: Family, wanted: str) -> InputError:
    """The error for a prior and a family that do not fit."""
    name = type(prior).__name__
    return InputError(f"A {name} prior is conjugate to the families {wanted}, not to {family.name!r}.")


def check_estimate(estimate: str) -> None:
    """Refuse anything but the two estimates there are."""
    if estimate not in ("mode", "mean"):
        raise InputError(f"estimate is {estimate!r}; choose 'mode' (MAP) or 'mean' of the posterior.")


def checked_positive(prior: object, name: str) -> FloatArray:
    """A field of a prior as an array of positive numbers, or an error."""
    value = np.asarray(getattr(prior, name), dtype=np.float64)
    if value.size == 0 or not np.all(np.isfinite(value)) or np.any(value <= 0.0):
        raise InputError(f"{type(prior).__name__}: {name} is {getattr(prior, name)!r}; it must be finite and positive.")
    return value
