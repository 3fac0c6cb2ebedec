r"""Bayesian linear regression from one pass: the counts are weight, means and scatter of ``(X, y)``.

With noise variance :math:`\sigma^2`, prior :math:`w \sim N(m_0, \Lambda_0^{-1})` and a flat prior on the
intercept, the posterior of the coefficients is normal with

.. math:: A = \sigma^{-2} S_{xx} + \Lambda_0, \qquad
          m = m_0 + A^{-1} \sigma^{-2} (S_{xy} - S_{xx} m_0), \qquad \operatorname{Cov} = A^{-1} ,

where :math:`S` are scatters about the weighted means (about zero without an intercept). Integrating the
coefficients and the intercept out leaves the evidence, with :math:`\nu = \sum_i w_i - 1` (:math:`\sum_i w_i`
without an intercept),

.. math:: \log p(y) = -\tfrac{\nu}{2} \log 2\pi\sigma^2 - \tfrac12 \log \textstyle\sum_i w_i
          + \tfrac12 \log\frac{|\Lambda_0|}{|A|}
          - \tfrac12 \left( \sigma^{-2} \mathrm{RSS}(m) + (m - m_0)^\top \Lambda_0 (m - m_0) \right) .

In the basis where :math:`\Lambda_0 = \alpha I` and :math:`S_{xx}` is diagonal with entries :math:`d_i`,
everything is a sum over coordinates, and the evidence is maximal where (MacKay, 1992)

.. math:: \alpha \lVert m - m_0 \rVert^2 = \gamma, \qquad \sigma^2 = \frac{\mathrm{RSS}}{\nu - \gamma}, \qquad
          \gamma = \sum_i \frac{d_i}{d_i + \alpha\sigma^2} .
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import brentq
from scipy.special import gammaln

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.column_moments import column_means
from softcount.core.execute import Executor
from softcount.core.normal_equations import Design, GramTally
from softcount.families.statistics import Moments, Sums

__all__ = ["LinearPrior", "NoisePrior", "Posterior", "conjugate_posterior", "evidence_posterior", "tally_moments"]

# Eigenvalues below this share of the largest are rounding errors of zero.
ZERO_EIGENVALUE = 1e-13
LOG_RANGE = 30.0
GRID = 121


@dataclass(frozen=True)
class LinearPrior:
    """Normal prior of the coefficients: mean and the Cholesky factor of the precision."""

    mean: FloatArray
    root_precision: FloatArray

    @property
    def precision(self) -> FloatArray:
        """The precision matrix."""
        return self.root_precision @ self.root_precision.T


@dataclass(frozen=True)
class NoisePrior:
    """Inverse-gamma prior of the noise variance: ``p(s) ~ s**(-shape - 1) exp(-rate / s)``."""

    shape: float
    rate: float


@dataclass(frozen=True)
class Posterior:
    """Posterior of the coefficients, given the noise variance or with it integrated out.

    Attributes
    ----------
    mean : array of shape (n_features,)
        Posterior mean.
    scale : array of shape (n_features, n_features)
        Covariance given the noise variance; for a conjugate posterior the scale matrix of the t distribution.
    noise_variance : float
        Given or estimated; for a conjugate posterior ``rate / shape``.
    prior_precision : float
        The factor of the prior's precision matrix that the evidence chose; 1 where none was chosen.
    log_evidence : float
        Log-probability of the targets.
    shape : float
        Shape of the noise's posterior; infinite where the noise variance is not a random variable.
    effective_coefficients : float
        ``gamma``: how many coefficients the data determined.
    """

    mean: FloatArray
    scale: FloatArray
    noise_variance: float
    prior_precision: float
    log_evidence: float
    shape: float
    effective_coefficients: float

    @property
    def df(self) -> float:
        """Degrees of freedom of the predictive distribution; infinite for the normal."""
        return 2.0 * self.shape


@dataclass(frozen=True)
class Spectrum:
    """The problem in the basis where the prior's precision is the identity and the scatter is diagonal.

    ``pull`` is the gradient towards the data at the prior mean, ``basis`` maps back, ``least`` is the
    smallest possible residual sum of squares.
    """

    values: FloatArray
    pull: FloatArray
    basis: FloatArray
    least: float
    dof: float
    total_weight: float
    has_intercept: bool

    @classmethod
    def of(cls, moments: Moments, prior: LinearPrior, *, fit_intercept: bool) -> Spectrum:
        """Diagonalize the moments of ``(X, y)`` under a prior."""
        scatter, weight = moments.scatter[0], float(moments.weight[0, 0])
        if not fit_intercept:
            mean = moments.mean[:, 0]
            scatter = scatter + weight * np.outer(mean, mean)
        sxx, sxy, syy = scatter[:-1, :-1], scatter[:-1, -1], float(scatter[-1, -1])
        gap = sxy - sxx @ prior.mean
        total = max(syy - float(prior.mean @ (sxy + gap)), 0.0)
        root = prior.root_precision
        half = solve_triangular(root, sxx, lower=True)
        whitened = solve_triangular(root, half.T, lower=True)
        values, vectors = np.linalg.eigh(0.5 * (whitened + whitened.T))
        pull = vectors.T @ solve_triangular(root, gap, lower=True)
        basis = solve_triangular(root, vectors, lower=True, trans="T")
        zero = values <= ZERO_EIGENVALUE * max(float(values.max(initial=0.0)), 0.0)
        values, pull = np.where(zero, 0.0, values), np.where(zero, 0.0, pull)
        explained = np.divide(pull * pull, values, out=np.zeros_like(pull), where=~zero).sum()
        dof = weight - float(fit_intercept)
        return cls(values, pull, basis, max(total - float(explained), 0.0), dof, weight, fit_intercept)

    def shifts(self, ridge: float) -> FloatArray:
        """``m - m_0`` in the basis, for the ratio ``ridge = alpha sigma**2``."""
        return self.pull / (self.values + ridge)

    def residual(self, ridge: float) -> float:
        """Residual sum of squares at the posterior mean, a sum of terms that are not negative."""
        missed = np.divide(ridge * self.pull, self.values + ridge)
        lost = np.divide(missed * missed, self.values, out=np.zeros_like(missed), where=self.values > 0.0)
        return self.least + float(lost.sum())

    def effective(self, ridge: float) -> float:
        """``gamma``."""
        return float((self.values / (self.values + ridge)).sum())

    def log_evidence(self, alpha: float, noise: float) -> float:
        """Log evidence for prior precision ``alpha`` times the given one, and noise variance ``noise``."""
        ridge = alpha * noise
        misfit = self.residual(ridge) / noise + alpha * float((self.shifts(ridge) ** 2).sum())
        return (
            -0.5 * self.dof * math.log(2.0 * math.pi * noise)
            - (0.5 * math.log(self.total_weight) if self.has_intercept else 0.0)
            - 0.5 * float(np.log1p(self.values / ridge).sum())
            - 0.5 * misfit
        )

    def profiled_noise(self, ridge: float) -> float:
        """The best noise variance for a given ratio of precisions."""
        return (self.residual(ridge) + ridge * float((self.shifts(ridge) ** 2).sum())) / self.dof


def tally_moments(design: Design, target: FloatArray, weight: FloatArray | None, executor: Executor) -> Moments:
    """Weight, means and scatter of ``(X, y)``, one pass after the one that finds the means to shift by."""
    center = np.zeros(design.table.shape[1])
    if not design.is_sparse:
        center = column_means(design, executor)
        design = replace(design, center=center)
    middle = float(target.mean())

    def tally(lane: Sequence[slice]) -> Sums:
        sums = GramTally(design.n_columns)
        scratch = design.scratch()
        for rows in lane:
            part = target[rows] - middle
            root = np.ones(part.shape) if weight is None else np.sqrt(weight[rows])
            design.load(rows, scratch).add_to(sums, root, root * part)
        return Sums({"total": sums.total})

    total = executor.reduce(tally, design.slices(), counts_bytes=GramTally.nbytes(design.n_columns))["total"]
    mass = float(total[0, 0])
    shift = total[1:, 0] / mass if mass > 0.0 else np.zeros(total.shape[0] - 1)
    size = shift.size
    scatter = total[1:, 1:] - mass * np.outer(shift, shift)
    mean = np.append(center, middle) + shift
    return Moments(np.full((size, 1), mass), mean[:, None], scatter[None])


def evidence_posterior(
    moments: Moments,
    prior: LinearPrior,
    *,
    noise_variance: float | None,
    scales_prior: bool,
    fit_intercept: bool,
) -> Posterior:
    """Posterior for a noise variance given, or chosen by the evidence where it is None.

    With ``scales_prior`` the evidence also chooses a factor of the prior's precision.
    """
    spectrum = Spectrum.of(moments, prior, fit_intercept=fit_intercept)
    if spectrum.dof <= 0.0:
        raise InputError(
            f"The rows have a total weight of {spectrum.total_weight:g}, which leaves nothing to estimate noise from: "
            "one sample fixes the intercept. Fit to more rows, or use fit_intercept=False."
        )
    alpha, noise = _hyperparameters(spectrum, noise_variance, scales_prior=scales_prior)
    ridge = alpha * noise
    scale = (spectrum.basis * (noise / (spectrum.values + ridge))) @ spectrum.basis.T
    return Posterior(
        prior.mean + spectrum.basis @ spectrum.shifts(ridge),
        scale,
        noise,
        alpha,
        spectrum.log_evidence(alpha, noise),
        math.inf,
        spectrum.effective(ridge),
    )


def conjugate_posterior(
    moments: Moments,
    prior: LinearPrior,
    noise_prior: NoisePrior,
    *,
    scales_prior: bool,
    fit_intercept: bool,
) -> Posterior:
    r"""Posterior under the Normal-inverse-gamma prior :math:`w \mid \sigma^2 \sim N(m_0, \sigma^2 \Lambda_0^{-1})`.

    The coefficients and predictions follow t distributions with :math:`2 a_n` degrees of freedom,

    .. math:: a_n = a_0 + \nu / 2, \qquad
              b_n = b_0 + \tfrac12 \left(\mathrm{RSS}(m) + (m - m_0)^\top \Lambda_0 (m - m_0)\right) .
    """
    spectrum = Spectrum.of(moments, prior, fit_intercept=fit_intercept)
    if spectrum.dof < 0.0:
        raise InputError("The rows have a total weight below 1, which does not determine the intercept.")
    shape = noise_prior.shape + 0.5 * spectrum.dof

    def rate_at(ridge: float) -> float:
        spread = ridge * float((spectrum.shifts(ridge) ** 2).sum())
        return noise_prior.rate + 0.5 * (spectrum.residual(ridge) + spread)

    def log_evidence(ridge: float) -> float:
        return (
            float(gammaln(shape) - gammaln(noise_prior.shape))
            + noise_prior.shape * math.log(noise_prior.rate)
            - shape * math.log(rate_at(ridge))
            - 0.5 * spectrum.dof * math.log(2.0 * math.pi)
            - (0.5 * math.log(spectrum.total_weight) if fit_intercept else 0.0)
            - 0.5 * float(np.log1p(spectrum.values / ridge).sum())
        )

    ridge = 1.0
    if scales_prior:

        def slope(log_ridge: float) -> float:
            at = math.exp(log_ridge)
            spread = at * float((spectrum.shifts(at) ** 2).sum())
            return spectrum.effective(at) - shape * spread / rate_at(at)

        ridge = _best(lambda log_ridge: log_evidence(math.exp(log_ridge)), slope, _scale_of(spectrum))
    noise = rate_at(ridge) / shape
    scale = (spectrum.basis * (noise / (spectrum.values + ridge))) @ spectrum.basis.T
    mean = prior.mean + spectrum.basis @ spectrum.shifts(ridge)
    return Posterior(mean, scale, noise, ridge, log_evidence(ridge), shape, spectrum.effective(ridge))


def _hyperparameters(spectrum: Spectrum, noise_variance: float | None, *, scales_prior: bool) -> tuple[float, float]:
    """Prior factor and noise variance, those not given chosen by the evidence."""
    if noise_variance is not None and not scales_prior:
        return 1.0, noise_variance
    if noise_variance is not None:

        def of_prior(log_alpha: float) -> float:
            return spectrum.log_evidence(math.exp(log_alpha), noise_variance)

        def prior_slope(log_alpha: float) -> float:
            ridge = math.exp(log_alpha) * noise_variance
            return spectrum.effective(ridge) - math.exp(log_alpha) * float((spectrum.shifts(ridge) ** 2).sum())

        return _best(of_prior, prior_slope, _scale_of(spectrum) / noise_variance), noise_variance
    floor = _smallest_noise(spectrum)
    if scales_prior:

        def of_ratio(log_ridge: float) -> float:
            noise = max(spectrum.profiled_noise(math.exp(log_ridge)), floor)
            return spectrum.log_evidence(math.exp(log_ridge) / noise, noise)

        def ratio_slope(log_ridge: float) -> float:
            ridge = math.exp(log_ridge)
            noise = max(spectrum.profiled_noise(ridge), floor)
            return spectrum.effective(ridge) - ridge / noise * float((spectrum.shifts(ridge) ** 2).sum())

        ridge = _best(of_ratio, ratio_slope, _scale_of(spectrum))
        noise = max(spectrum.profiled_noise(ridge), floor)
        return ridge / noise, noise

    def of_noise(log_noise: float) -> float:
        return spectrum.log_evidence(1.0, math.exp(log_noise))

    def noise_slope(log_noise: float) -> float:
        noise = math.exp(log_noise)
        return spectrum.residual(noise) / noise - (spectrum.dof - spectrum.effective(noise))

    start = max(spectrum.profiled_noise(1.0), floor)
    return 1.0, max(_best(of_noise, noise_slope, start), floor)


def _scale_of(spectrum: Spectrum) -> float:
    """A typical eigenvalue, around which ratios of precisions are looked for."""
    positive = spectrum.values[spectrum.values > 0.0]
    return float(np.exp(np.log(positive).mean())) if positive.size else 1.0


def _smallest_noise(spectrum: Spectrum) -> float:
    """Noise below this is rounding of a perfect fit."""
    explained = np.divide(
        spectrum.pull**2, spectrum.values, out=np.zeros_like(spectrum.pull), where=spectrum.values > 0.0
    ).sum()
    return max(1e-20 * (spectrum.least + float(explained)) / spectrum.dof, 1e-280)


def _best(value: Callable[[float], float], slope: Callable[[float], float], middle: float) -> float:
    """Where a function of a logarithm is largest: the best of a grid around ``middle``, refined to a zero slope."""
    grid = math.log(middle) + np.linspace(-LOG_RANGE, LOG_RANGE, GRID)
    best = int(np.argmax([value(float(point)) for point in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID - 1)])
    if slope(low) * slope(high) < 0.0:
        return math.exp(brentq(slope, low, high, xtol=1e-13, rtol=1e-14))
    return math.exp(float(grid[best]))
