"""Conjugate priors of probabilities and rates: Beta, Dirichlet and gamma distributions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.families._base import Family
from softcount.families.bernoulli import Bernoulli
from softcount.families.beta import Beta as BetaFamily
from softcount.families.categorical import Categorical
from softcount.families.columns import ColumnFamily, PseudoCounts
from softcount.families.conjugate import ConjugatePrior, check_estimate, checked_positive, not_conjugate
from softcount.families.dirichlet import Dirichlet as DirichletFamily
from softcount.families.exponential import Exponential
from softcount.families.gamma import Gamma as GammaFamily
from softcount.families.gamma_function import log_gamma_ratio
from softcount.families.moment_prior import as_column
from softcount.families.multinomial import Multinomial
from softcount.families.negative_binomial import FailureCounts
from softcount.families.poisson import Poisson

__all__ = ["Beta", "Dirichlet", "Gamma"]


@dataclass(frozen=True)
class Beta(ConjugatePrior):
    r"""Beta prior of a probability :math:`\theta`: conjugate to Bernoulli, geometric and negative binomial data.

    .. math:: p(\theta) = \frac{\theta^{a-1} (1-\theta)^{b-1}}{B(a, b)}

    After :math:`N_1` ones among :math:`N` rows the mode is :math:`(N_1 + a - 1) / (N + a + b - 2)` and the mean
    :math:`(N_1 + a) / (N + a + b)`. For geometric and negative binomial counts :math:`\theta` is the probability of
    success, and a count :math:`x` of size :math:`r` is :math:`r` successes and :math:`x` failures.

    Parameters
    ----------
    a, b : float or array of shape (n_features,)
        Prior successes and failures.

    Examples
    --------
    >>> from softcount.families import Bernoulli
    >>> Beta(1.0, 1.0).posterior(Bernoulli(), [1, 1, 0]).expected()
    array(0.6)
    """

    a: float | FloatArray
    b: float | FloatArray

    def __post_init__(self) -> None:
        checked_positive(self, "a")
        checked_positive(self, "b")

    def expected(self) -> FloatArray:
        r""":math:`a / (a + b)`."""
        a, b = self._fields()
        return np.asarray(a / (a + b))

    def mode(self) -> FloatArray:
        r""":math:`(a - 1) / (a + b - 2)`, for :math:`a, b \ge 1`; one half if it is everywhere."""
        a, b = self._fields()
        refuse_edge(self, "a", a)
        refuse_edge(self, "b", b)
        total = a + b - 2.0
        return np.asarray(np.where(total > 0.0, (a - 1.0) / np.where(total > 0.0, total, 1.0), 0.5))

    def log_density(self, prob: ArrayLike) -> FloatArray:
        """Log-density of a probability."""
        return BetaFamily().log_prob(prob, BetaFamily().parameters(*self._fields()))

    def log_normalizer(self) -> FloatArray:
        r""":math:`\log B(a, b)`."""
        a, b = self._fields()
        return np.asarray(special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b))

    def posterior(self, family: Family, x: ArrayLike, weight: ArrayLike | None = None) -> Beta:
        """Successes and failures added to the prior's."""
        successes, failures = self._trials(family)
        total, mass = family.totals(x, weight)
        total = total[..., 0]
        if isinstance(family, Bernoulli):
            return Beta(self.a + total, self.b + (mass - total))
        return Beta(self.a + successes * mass, self.b + failures * total)

    def log_predictive(self, family: Family, x: ArrayLike) -> FloatArray:
        r""":math:`\log a/(a+b)` or :math:`\log b/(a+b)`; of a count the beta negative binomial distribution."""
        self._trials(family)
        a, b = self._fields()
        if isinstance(family, FailureCounts):
            size = family.size

            def log_density(x: FloatArray) -> FloatArray:
                ratio = log_gamma_ratio(a, size) + log_gamma_ratio(b, x) - log_gamma_ratio(a + b, size + x)
                return np.asarray(ratio + family.log_base(x))

            return family.on_support(x, log_density)
        return family.on_support(x, lambda v: np.log(np.where(v == 1.0, a, b)) - np.log(a + b))

    def pseudo_counts(self, estimate: str = "mode", family: ColumnFamily | None = None) -> PseudoCounts:
        """Pseudo-observations of a one and a zero; for counts of failures, pseudo-rows."""
        check_estimate(estimate)
        a, b = self._fields()
        if estimate == "mode":
            a, b = refuse_edge(self, "a", a) - 1.0, refuse_edge(self, "b", b) - 1.0
        if family is None or isinstance(family, Bernoulli):
            return PseudoCounts(as_column(a), as_column(b))
        successes, _ = self._trials(family)
        return pseudo_rows(self, a / successes, b)

    def _trials(self, family: Family) -> tuple[float, float]:
        """Successes in every row, and failures per unit of the row's value."""
        if isinstance(family, Bernoulli):
            return 0.0, 0.0
        if isinstance(family, FailureCounts):
            return family.size, 1.0
        raise not_conjugate(self, family, "bernoulli, geometric and negative_binomial")

    def _fields(self) -> tuple[FloatArray, FloatArray]:
        a, b = np.broadcast_arrays(np.asarray(self.a, dtype=np.float64), np.asarray(self.b, dtype=np.float64))
        return a, b


@dataclass(frozen=True)
class Dirichlet(ConjugatePrior):
    r"""Dirichlet prior of the probabilities of values or words: conjugate to categorical and multinomial data.

    .. math:: p(\theta) = \frac{\Gamma(\sum_v c_v)}{\prod_v \Gamma(c_v)} \prod_v \theta_v^{c_v - 1}

    With counts :math:`N_v` the posterior's mode is proportional to :math:`N_v + c_v - 1` and its mean to
    :math:`N_v + c_v`.

    Parameters
    ----------
    concentration : float or array of shape (n_values,)
        Prior count of each value. One number means the same for all values, as many as a table turns out to have;
        everything but :meth:`pseudo_counts` needs one per value.

    Examples
    --------
    >>> from softcount.families import Categorical
    >>> Dirichlet([1.0, 1.0, 1.0]).posterior(Categorical(), [0, 0, 2]).expected().round(3)
    array([0.5  , 0.167, 0.333])
    """

    concentration: float | FloatArray

    def __post_init__(self) -> None:
        checked_positive(self, "concentration")

    def expected(self) -> FloatArray:
        """Probabilities proportional to the concentrations."""
        c = self._values()
        return np.asarray(c / c.sum(axis=-1, keepdims=True))

    def mode(self) -> FloatArray:
        """Probabilities proportional to the concentrations less one; equal ones if it is everywhere."""
        rest = refuse_edge(self, "concentration", self._values()) - 1.0
        total = rest.sum(axis=-1, keepdims=True)
        even = np.full(rest.shape, 1.0 / rest.shape[-1])
        return np.asarray(np.divide(rest, total, out=even, where=total > 0.0))

    def log_density(self, prob: ArrayLike) -> FloatArray:
        """Log-density of a vector of probabilities."""
        return DirichletFamily().log_prob(prob, {"concentration": self._values()})

    def log_normalizer(self) -> FloatArray:
        r""":math:`\sum_v \log\Gamma(c_v) - \log\Gamma(\sum_v c_v)`."""
        c = self._values()
        return np.asarray(special.gammaln(c).sum(axis=-1) - special.gammaln(c.sum(axis=-1)))

    def posterior(self, family: Family, x: ArrayLike, weight: ArrayLike | None = None) -> Dirichlet:
        """Counts added to the prior's."""
        total, _ = self._sized(family, x).totals(x, weight)
        return Dirichlet(self._values() + total)

    def log_predictive(self, family: Family, x: ArrayLike) -> FloatArray:
        r""":math:`\log c_x / \sum_v c_v`; of a vector of counts the Dirichlet-multinomial distribution."""
        c = self._values()
        if isinstance(self._sized(family, x), Categorical):
            return family.log_prob(x, {"log_prob": np.log(c) - np.log(c.sum(axis=-1, keepdims=True))})
        counts = np.nan_to_num(np.asarray(x, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        counts = np.maximum(counts, 0.0)
        ratio = log_gamma_ratio(c, counts).sum(axis=-1) - log_gamma_ratio(c.sum(axis=-1), counts.sum(axis=-1))
        return np.asarray(ratio + family.log_base(x))

    def pseudo_counts(self, estimate: str = "mode", family: ColumnFamily | None = None) -> PseudoCounts:
        """Pseudo-observations of every value."""
        check_estimate(estimate)
        if family is not None and not isinstance(family, Categorical | Multinomial):
            raise not_conjugate(self, family, "categorical and multinomial")
        c = np.asarray(self.concentration, dtype=np.float64)
        c = refuse_edge(self, "concentration", c) - 1.0 if estimate == "mode" else c
        return PseudoCounts(as_column(c))

    def _values(self) -> FloatArray:
        c = np.asarray(self.concentration, dtype=np.float64)
        if c.ndim == 0:
            raise InputError("Dirichlet: one concentration per value is needed here; a single number has no length.")
        return c

    def _sized(self, family: Family, x: ArrayLike) -> Family:
        """The family with as many values as the prior, and an error for observations that do not fit."""
        n_values = self._values().shape[-1]
        if isinstance(family, Categorical):
            codes = np.asarray(x)
            if np.any((codes >= n_values) & ~family.missing(codes)):
                raise InputError(
                    f"x holds the code {codes.max()}, but the prior has {n_values} values: 0 … {n_values - 1}."
                )
            return Categorical(n_values=(n_values,))
        if isinstance(family, Multinomial):
            if np.shape(x)[-1:] != (n_values,):
                raise InputError(f"x has shape {np.shape(x)}, but the prior has {n_values} words.")
            return family
        raise not_conjugate(self, family, "categorical and multinomial")


@dataclass(frozen=True)
class Gamma(ConjugatePrior):
    r"""Gamma prior of a rate :math:`\lambda`: conjugate to Poisson and exponential data.

    .. math:: p(\lambda) = \frac{\beta^a}{\Gamma(a)} \lambda^{a-1} e^{-\beta\lambda}

    After Poisson counts with sum :math:`s` in :math:`N` rows the mode is :math:`(s + a - 1) / (N + \beta)` and the mean
    :math:`(s + a) / (N + \beta)`; after exponential waiting times the roles of :math:`s` and :math:`N` are exchanged.

    Parameters
    ----------
    shape : float or array of shape (n_features,)
        :math:`a`: prior events.
    rate : float or array of shape (n_features,)
        :math:`\beta`: prior exposure.

    Examples
    --------
    >>> from softcount.families import Poisson
    >>> Gamma(shape=2.0, rate=1.0).posterior(Poisson(), [3, 4]).expected()
    array(3.)
    """

    shape: float | FloatArray
    rate: float | FloatArray

    def __post_init__(self) -> None:
        checked_positive(self, "shape")
        checked_positive(self, "rate")

    def expected(self) -> FloatArray:
        r""":math:`a / \beta`."""
        shape, rate = self._fields()
        return np.asarray(shape / rate)

    def mode(self) -> FloatArray:
        r""":math:`(a - 1) / \beta`, for :math:`a \ge 1`."""
        shape, rate = self._fields()
        return np.asarray((refuse_edge(self, "shape", shape) - 1.0) / rate)

    def log_density(self, rate: ArrayLike) -> FloatArray:
        """Log-density of a rate."""
        return GammaFamily().log_prob(rate, GammaFamily().parameters(*self._fields()))

    def log_normalizer(self) -> FloatArray:
        r""":math:`\log\Gamma(a) - a \log\beta`."""
        shape, rate = self._fields()
        return np.asarray(special.gammaln(shape) - shape * np.log(rate))

    def posterior(self, family: Family, x: ArrayLike, weight: ArrayLike | None = None) -> Gamma:
        """Events and exposure added to the prior's."""
        self._check(family)
        total, mass = family.totals(x, weight)
        total = total[..., 0]
        if isinstance(family, Exponential):
            return Gamma(self.shape + mass, self.rate + total)
        return Gamma(self.shape + total, self.rate + mass)

    def log_predictive(self, family: Family, x: ArrayLike) -> FloatArray:
        """Negative binomial distribution of a count, Lomax distribution of a waiting time."""
        self._check(family)
        shape, rate = self._fields()
        if isinstance(family, Exponential):
            return family.on_support(x, lambda v: np.log(shape / rate) - (shape + 1.0) * np.log1p(v / rate))

        def log_density(x: FloatArray) -> FloatArray:
            tail = -shape * np.log1p(1.0 / rate) - x * np.log1p(rate)
            return np.asarray(log_gamma_ratio(shape, x) - special.gammaln(x + 1.0) + tail)

        return family.on_support(x, log_density)

    def pseudo_counts(self, estimate: str = "mode", family: ColumnFamily | None = None) -> PseudoCounts:
        """Pseudo-rows: ``rate`` of them with so many events, or so many waiting times with that sum."""
        check_estimate(estimate)
        shape, rate = self._fields()
        if estimate == "mode":
            shape = refuse_edge(self, "shape", shape) - 1.0
        if family is not None:
            self._check(family)
        if isinstance(family, Exponential):
            return pseudo_rows(self, shape, rate)
        return pseudo_rows(self, rate, shape)

    def _check(self, family: Family) -> None:
        if not isinstance(family, Poisson | Exponential):
            raise not_conjugate(self, family, "poisson and exponential")

    def _fields(self) -> tuple[FloatArray, FloatArray]:
        shape, rate = np.broadcast_arrays(
            np.asarray(self.shape, dtype=np.float64), np.asarray(self.rate, dtype=np.float64)
        )
        return shape, rate


def refuse_edge(prior: object, name: str, value: FloatArray) -> FloatArray:
    """Counts of at least one, or an error: with less the density is infinite on the boundary and has no mode."""
    if np.any(value < 1.0):
        raise InputError(
            f"{type(prior).__name__}: {name} is {getattr(prior, name)!r}. Below 1 the density is infinite on the "
            "boundary and has no mode; use estimate='mean', or a prior of 1 and more."
        )
    return value


def pseudo_rows(prior: object, rows: FloatArray, total: FloatArray) -> PseudoCounts:
    """So many pseudo-rows whose values have this sum."""
    if np.any((rows <= 0.0) & (total > 0.0)):
        raise InputError(
            f"{prior!r} has a sum but no rows to its mode, which pseudo-rows cannot express; use estimate='mean', or a "
            "first parameter above 1."
        )
    center = np.divide(total, rows, out=np.ones(np.shape(rows)), where=rows > 0.0)
    return PseudoCounts(as_column(rows), center=np.atleast_1d(center)[:, None])
