"""Conjugate priors of means and variances: normal-inverse-gamma and normal-inverse-Wishart distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.families._base import Family, Params
from softcount.families.cholesky import cholesky_factors
from softcount.families.columns import ColumnFamily
from softcount.families.conjugate import ConjugatePrior, check_estimate, checked_positive, not_conjugate
from softcount.families.gamma_function import log_gamma_ratio
from softcount.families.gaussian import Gaussian
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.moment_prior import MomentPrior

__all__ = ["NormalInverseGamma", "NormalInverseWishart", "means_per_variance", "table_counts"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class NormalInverseGamma(ConjugatePrior):
    r"""Normal-inverse-gamma prior of a mean and a variance: conjugate to Gaussian data.

    .. math:: v \sim \mathrm{InvGamma}(a, b), \qquad \mu \mid v \sim N(m_0, v / \kappa)

    With the data's weight, mean and scatter merged with :math:`\kappa` pseudo-rows at :math:`m_0` into :math:`S`, the
    posterior's mode has the variance :math:`(S + 2b) / (N + 2a + 3)` and its mean :math:`(S + 2b) / (N + 2a - 2)`.

    Parameters
    ----------
    mean : float or array of shape (n_features,)
        :math:`m_0`.
    kappa : float or array of shape (n_features,)
        How many rows the knowledge of the mean is worth.
    shape, scale : float or array of shape (n_features,)
        :math:`a` and :math:`b`.

    Examples
    --------
    >>> from softcount.families import Gaussian
    >>> prior = NormalInverseGamma(mean=0.0, kappa=1.0, shape=2.0, scale=1.0)
    >>> float(prior.posterior(Gaussian(), [1.0, 2.0, 3.0]).mean)
    1.5
    """

    mean: float | FloatArray
    kappa: float | FloatArray
    shape: float | FloatArray
    scale: float | FloatArray

    def __post_init__(self) -> None:
        check_finite(self, "mean")
        for name in ("kappa", "shape", "scale"):
            checked_positive(self, name)

    def expected(self) -> Params:
        r"""Means of the two: :math:`m_0` and :math:`b / (a - 1)`."""
        shape = np.asarray(self.shape, dtype=np.float64)
        self._refuse_no_mean()
        return {"mean": np.asarray(self.mean, dtype=np.float64), "var": np.asarray(self.scale / (shape - 1.0))}

    def mode(self) -> Params:
        r"""The most likely pair: :math:`m_0` and :math:`b / (a + \tfrac32)`."""
        return {"mean": np.asarray(self.mean, dtype=np.float64), "var": np.asarray(self.scale / (self.shape + 1.5))}

    def log_density(self, mean: ArrayLike, var: ArrayLike) -> FloatArray:
        """Joint log-density of a mean and a variance."""
        mean, var = np.asarray(mean, dtype=np.float64), np.asarray(var, dtype=np.float64)
        inverse = (self.scale + 0.5 * self.kappa * (mean - self.mean) ** 2) / var
        return np.asarray(-(self.shape + 1.5) * np.log(var) - inverse - self.log_normalizer())

    def log_normalizer(self) -> FloatArray:
        r""":math:`\log\Gamma(a) - a \log b + \tfrac12 \log(2\pi / \kappa)`."""
        shape = np.asarray(self.shape, dtype=np.float64)
        return np.asarray(special.gammaln(shape) - shape * np.log(self.scale) + 0.5 * (LOG_2PI - np.log(self.kappa)))

    def posterior(self, family: Family, x: ArrayLike, weight: ArrayLike | None = None) -> NormalInverseGamma:
        r"""Moments added: :math:`b' = b + \tfrac12 S + \tfrac{\kappa w}{2(\kappa + w)} (\bar x - m_0)^2`."""
        self._check(family)
        _, mass = family.totals(x, weight)
        params = Gaussian().fit(x, weight)
        scatter = params["var"] * mass
        kappa = self.kappa + mass
        delta = params["mean"] - self.mean
        return NormalInverseGamma(
            mean=self.mean + delta * mass / kappa,
            kappa=kappa,
            shape=self.shape + 0.5 * mass,
            scale=self.scale + 0.5 * (scatter + self.kappa * mass / kappa * delta**2),
        )

    def log_predictive(self, family: Family, x: ArrayLike) -> FloatArray:
        r"""Student's t with :math:`2a` degrees of freedom about :math:`m_0`.

        Its squared scale is :math:`b (\kappa + 1) / (a \kappa)`.
        """
        self._check(family)
        shape = np.asarray(self.shape, dtype=np.float64)
        spread = 2.0 * self.scale * (self.kappa + 1.0) / self.kappa
        constant = log_gamma_ratio(shape, 0.5) - 0.5 * np.log(np.pi * spread)
        return family.on_support(x, lambda v: constant - (shape + 0.5) * np.log1p((v - self.mean) ** 2 / spread))

    def pseudo_counts(
        self, estimate: str = "mode", family: ColumnFamily | None = None, n_means: int = 1
    ) -> MomentPrior:
        r"""Pseudo-rows, :math:`S_0 = 2b`, and :math:`\nu = 2a + 3` for the mode or :math:`2a - 2` for the mean.

        Parameters
        ----------
        estimate : {"mode", "mean"}
            Whether solving gives the mode (MAP) or the mean of the posterior.
        family : ColumnFamily, optional
            Checked, if given.
        n_means : int
            How many means share each variance; for the mode the density of each of them counts.
        """
        check_estimate(estimate)
        if family is not None:
            self._check(family)
        if estimate == "mean":
            self._refuse_no_mean()
        dof = 2.0 * np.asarray(self.shape, dtype=np.float64)
        dof = dof - 2.0 if estimate == "mean" else dof + 2.0 + n_means
        return MomentPrior(
            weight=_column_or_number(self.kappa),
            mean=_number(self.mean),
            scatter=2.0 * np.asarray(self.scale, dtype=np.float64),
            dof=_column_or_number(dof),
            smoothing=0.0,
        )

    def _check(self, family: Family) -> None:
        if not isinstance(family, Gaussian):
            raise not_conjugate(self, family, "gaussian")

    def _refuse_no_mean(self) -> None:
        if np.any(np.asarray(self.shape) <= 1.0):
            raise InputError(
                f"NormalInverseGamma: shape is {self.shape!r}; the variance has no mean unless it is above 1. Use "
                "estimate='mode', or a larger shape."
            )


@dataclass(frozen=True)
class NormalInverseWishart(ConjugatePrior):
    r"""Normal-inverse-Wishart prior of a mean vector and a covariance: conjugate to multivariate Gaussian data.

    .. math:: \Sigma \sim \mathrm{InvWishart}(\Psi, \nu), \qquad \mu \mid \Sigma \sim N(m_0, \Sigma / \kappa)

    With the data's moments merged with :math:`\kappa` pseudo-rows at :math:`m_0` into :math:`S`, the posterior's mode
    has the covariance :math:`(S + \Psi) / (N + \nu + d + 2)` and its mean :math:`(S + \Psi) / (N + \nu - d - 1)`.

    Parameters
    ----------
    mean : array of shape (n_features,)
        :math:`m_0`.
    kappa : float
        How many rows the knowledge of the mean is worth.
    df : float
        :math:`\nu`, above ``n_features - 1``.
    scale : array of shape (n_features, n_features)
        :math:`\Psi`, positive definite.

    Examples
    --------
    >>> prior = NormalInverseWishart(mean=[0.0, 0.0], kappa=1.0, df=5.0, scale=[[2.0, 0.0], [0.0, 2.0]])
    >>> prior.expected()["cov"]
    array([[1., 0.],
           [0., 1.]])
    """

    mean: FloatArray
    kappa: float
    df: float
    scale: FloatArray

    def __post_init__(self) -> None:
        check_finite(self, "mean")
        checked_positive(self, "kappa")
        mean, scale = np.asarray(self.mean, dtype=np.float64), np.asarray(self.scale, dtype=np.float64)
        size = mean.size
        if mean.ndim != 1 or scale.shape != (size, size) or not np.all(np.isfinite(scale)):
            raise InputError(
                f"NormalInverseWishart: mean has shape {mean.shape} and scale {scale.shape}; expected (d,) and (d, d)."
            )
        symmetric = np.allclose(scale, scale.T, rtol=1e-10, atol=0.0)
        if not symmetric or np.linalg.eigvalsh(scale)[0] <= 0.0:
            raise InputError("NormalInverseWishart: scale must be symmetric and positive definite.")
        if not (np.ndim(self.df) == 0 and np.isfinite(self.df) and self.df > size - 1.0):
            raise InputError(
                f"NormalInverseWishart: df is {self.df!r}; it must be above {size - 1}, the columns less one."
            )

    @property
    def n_columns(self) -> int:
        """Length of the mean."""
        return int(np.size(self.mean))

    def expected(self) -> Params:
        r"""Means of the two: :math:`m_0` and :math:`\Psi / (\nu - d - 1)`."""
        self._refuse_no_mean()
        cov = np.asarray(self.scale, dtype=np.float64) / (self.df - self.n_columns - 1.0)
        return {"mean": np.asarray(self.mean, dtype=np.float64), "cov": cov}

    def mode(self) -> Params:
        r"""The most likely pair: :math:`m_0` and :math:`\Psi / (\nu + d + 2)`."""
        cov = np.asarray(self.scale, dtype=np.float64) / (self.df + self.n_columns + 2.0)
        return {"mean": np.asarray(self.mean, dtype=np.float64), "cov": cov}

    def log_density(self, mean: ArrayLike, cov: ArrayLike) -> FloatArray:
        """Joint log-density of a mean vector and a covariance."""
        cov = np.asarray(cov, dtype=np.float64)
        delta = np.asarray(mean, dtype=np.float64) - np.asarray(self.mean, dtype=np.float64)
        spread = np.asarray(self.scale, dtype=np.float64) + self.kappa * delta[..., :, None] * delta[..., None, :]
        trace = np.trace(np.linalg.solve(cov, spread), axis1=-2, axis2=-1)
        log_det = np.linalg.slogdet(cov)[1]
        return np.asarray(-0.5 * ((self.df + self.n_columns + 2.0) * log_det + trace) - self.log_normalizer())

    def log_normalizer(self) -> FloatArray:
        r"""Logarithm of the integral of the unnormalized density.

        .. math:: \tfrac{\nu d}{2}\log 2 + \log\Gamma_d(\tfrac{\nu}{2}) - \tfrac{\nu}{2}\log|\Psi|
            + \tfrac{d}{2}\log\tfrac{2\pi}{\kappa}
        """
        d, df = self.n_columns, self.df
        log_det = np.linalg.slogdet(np.asarray(self.scale, dtype=np.float64))[1]
        scale = 0.5 * df * (d * np.log(2.0) - log_det) + special.multigammaln(0.5 * df, d)
        return np.asarray(scale + 0.5 * d * (LOG_2PI - np.log(self.kappa)))

    def posterior(self, family: Family, x: ArrayLike, weight: ArrayLike | None = None) -> NormalInverseWishart:
        r"""Moments added: :math:`\Psi' = \Psi + S + \tfrac{\kappa w}{\kappa + w} \delta\delta^\top`."""
        self._check(family)
        _, mass = family.totals(x, weight)
        params = MultivariateGaussian().fit(x, weight)
        kappa = float(self.kappa + mass)
        mean = np.asarray(self.mean, dtype=np.float64)
        delta = params["mean"] - mean
        scale = np.asarray(self.scale) + mass * params["cov"] + self.kappa * mass / kappa * np.outer(delta, delta)
        return NormalInverseWishart(mean + delta * mass / kappa, kappa, float(self.df + mass), 0.5 * (scale + scale.T))

    def log_predictive(self, family: Family, x: ArrayLike) -> FloatArray:
        r"""Multivariate t with :math:`\nu - d + 1` degrees of freedom about :math:`m_0`.

        Its scale matrix is :math:`\Psi (\kappa + 1) / (\kappa (\nu - d + 1))`.
        """
        self._check(family)
        x = np.asarray(x, dtype=np.float64)
        d = self.n_columns
        known = family.in_support(x).all(axis=-1) & ~np.isnan(x).any(axis=-1)
        if np.isnan(x).any():
            raise InputError("x has missing entries; the predictive distribution takes complete vectors.")
        factor = cholesky_factors(np.asarray(self.scale, dtype=np.float64) * (self.kappa + 1.0) / self.kappa)
        deviation = np.where(known[..., None], x - np.asarray(self.mean, dtype=np.float64), 0.0)
        solved = np.linalg.solve(factor, deviation[..., None])[..., 0]
        log_det = 2.0 * np.log(np.diagonal(factor)).sum()
        constant = log_gamma_ratio(0.5 * (self.df - d + 1.0), 0.5 * d) - 0.5 * (d * np.log(np.pi) + log_det)
        inside = constant - 0.5 * (self.df + 1.0) * np.log1p(np.sum(solved * solved, axis=-1))
        return np.asarray(np.where(known, inside, -np.inf))

    def pseudo_counts(
        self, estimate: str = "mode", family: ColumnFamily | None = None, n_means: int = 1
    ) -> MomentPrior:
        r"""Pseudo-rows, :math:`S_0 = \Psi`, and :math:`\nu + d + 2` (mode) or :math:`\nu - d - 1` (mean) added rows.

        Parameters
        ----------
        estimate : {"mode", "mean"}
            Whether solving gives the mode (MAP) or the mean of the posterior.
        family : ColumnFamily, optional
            Checked, if given.
        n_means : int
            How many means share the covariance; for the mode the density of each of them counts.
        """
        check_estimate(estimate)
        if family is not None:
            self._check(family)
        if estimate == "mean":
            self._refuse_no_mean()
        dof = self.df - self.n_columns - 1.0 if estimate == "mean" else self.df + self.n_columns + 1.0 + n_means
        mean, scale = np.asarray(self.mean, dtype=np.float64), np.asarray(self.scale, dtype=np.float64)
        return MomentPrior(weight=self.kappa, mean=mean, scatter=scale, dof=dof, smoothing=0.0)

    def _check(self, family: Family) -> None:
        if not isinstance(family, MultivariateGaussian):
            raise not_conjugate(self, family, "multivariate_gaussian")

    def _refuse_no_mean(self) -> None:
        if self.df <= self.n_columns + 1:
            raise InputError(
                f"NormalInverseWishart: df is {self.df!r}; the covariance of {self.n_columns} columns has no mean "
                f"unless it is above {self.n_columns + 1}. Use estimate='mode', or a larger df."
            )


def means_per_variance(family: ColumnFamily, n_columns: int, n_classes: int) -> int:
    """How many means share each (co)variance of a Gaussian family.

    Examples
    --------
    >>> means_per_variance(Gaussian(shared=True), n_columns=4, n_classes=3)
    3
    """
    spherical = n_columns if getattr(family, "spherical", False) else 1
    return spherical * (n_classes if getattr(family, "shared", False) else 1)


def table_counts(prior: Any, estimate: str, family: ColumnFamily, n_columns: int, n_classes: int) -> Any:
    """The pseudo-counts of any prior for a table: a shared (co)variance has its density once, but that of every mean.

    Examples
    --------
    >>> prior = NormalInverseGamma(mean=0.0, kappa=1.0, shape=2.0, scale=1.0)
    >>> table_counts(prior, "mode", Gaussian(shared=True), n_columns=1, n_classes=2).dof
    8.0
    """
    if isinstance(prior, NormalInverseGamma | NormalInverseWishart):
        return prior.pseudo_counts(estimate, family, means_per_variance(family, n_columns, n_classes))
    return prior.pseudo_counts(estimate, family)


def check_finite(prior: object, name: str) -> None:
    """Refuse a field that is not made of finite numbers."""
    value = np.asarray(getattr(prior, name), dtype=np.float64)
    if value.size == 0 or not np.all(np.isfinite(value)):
        raise InputError(f"{type(prior).__name__}: {name} is {getattr(prior, name)!r}; it must be finite.")


def _number(value: float | FloatArray) -> float | FloatArray:
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


def _column_or_number(value: float | FloatArray) -> float | FloatArray:
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array[:, None]
