"""Bayesian linear regression in closed form, as a scikit-learn regressor."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.bayesian_linear import (
    NoisePrior,
    Posterior,
    conjugate_posterior,
    evidence_posterior,
    tally_distant_moments,
    tally_moments,
)
from softcount.core.blas_threads import single_threaded_blas
from softcount.core.counts import Counts
from softcount.core.execute import ThreadExecutor
from softcount.core.glm.families import GaussianFamily
from softcount.core.normal_equations import Design
from softcount.estimators._linear_table import check_finite, check_sizes, check_width, column_names, read_table
from softcount.estimators._saving import Savable
from softcount.estimators.bayesian_prior import check_noise, read_prior
from softcount.estimators.coefficient_table import CoefficientTable, check_level, critical_value
from softcount.estimators.distant.face import AnswersInBatches
from softcount.estimators.distant.sources import is_distant, lies_elsewhere
from softcount.estimators.glm.distant import distant_score, distant_table
from softcount.estimators.glm.inputs import read_target
from softcount.estimators.glm.intervals import predictor_error
from softcount.families.statistics import Moments
from softcount.inputs.weights import read_weights

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["BayesianLinearRegression", "PosteriorDraws"]

IntervalKind = Literal["mean", "observation"]
#: Fourth powers of numbers, which posterior and evidence are made of, are numbers up to this size.
LARGEST_SIZE = 1e75


class PosteriorDraws(NamedTuple):
    """Draws from a posterior: coefficients ``(n_draws, n_features)``, intercepts and noise variances ``(n_draws,)``."""

    coef: FloatArray
    intercept: FloatArray
    noise_variance: FloatArray


class BayesianLinearRegression(AnswersInBatches, Savable, RegressorMixin, BaseEstimator):
    r"""Linear regression with a normal prior: posterior, predictive distribution and evidence from one pass.

    .. math:: y_i = x_i^\top w + b + \varepsilon_i, \qquad \varepsilon_i \sim N(0, \sigma^2), \qquad
              w \sim N(m_0, \Lambda_0^{-1}), \qquad p(b) \propto 1

    Parameters
    ----------
    prior_precision : float, array or "evidence", default="evidence"
        Precision of the coefficients: a number for all, one per column, or a matrix. ``"evidence"`` chooses
        one number for all by maximizing the probability of the targets.
    prior_covariance : float or array, optional
        The covariance instead of the precision.
    prior_mean : float or array of shape (n_features,), default=0.0
        Mean of the coefficients.
    noise : float, "evidence" or "conjugate", default="evidence"
        Variance of the noise: given; chosen by the evidence; or integrated out under the conjugate
        Normal-inverse-gamma prior, where ``prior_precision`` is relative to the noise,
        :math:`w \mid \sigma^2 \sim N(m_0, \sigma^2 \Lambda_0^{-1})`, and predictions follow Student's t.
    noise_shape, noise_rate : float, default=1e-6
        The inverse-gamma prior of ``noise="conjugate"``.
    fit_intercept : bool, default=True
        Whether there is an intercept, with a flat prior.
    n_jobs : int, optional
        Threads; all usable cores by default. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Posterior mean.
    intercept_ : float
        Posterior mean of the intercept.
    covariance_ : array of shape (n_features, n_features)
        Posterior covariance of ``coef_``.
    noise_variance_ : float
        Variance of the noise; with ``noise="conjugate"`` the scale of its posterior, rate over shape.
    prior_precision_ : float
        The number the evidence chose (a factor of the given precision is 1).
    log_evidence_ : float
        Log-probability of the targets with everything unknown integrated out; the flat prior of the intercept
        counts with density 1.
    effective_coefficients_ : float
        How many coefficients the data determined, from 0 to ``n_features``.
    df_ : float
        Degrees of freedom of predictions; infinite for the normal.
    n_observations_, n_features_in_ : float and int
        Total weight, and number of columns.
    counts_ : Counts
        What ``partial_fit`` adds to.

    Notes
    -----
    The counts of the pass are the weight, the means and the scatter of ``(X, y)``; everything else is solved
    from them, so ``partial_fit`` adds counts and equals ``fit`` on all rows together. A ``sample_weight`` of
    k stands for k copies of the row. Columns may be linearly dependent: the prior tells them apart.

    References
    ----------
    MacKay (1992), Bayesian interpolation, Neural Computation 4, 415-447.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = BayesianLinearRegression().fit(x, [0.1, 0.9, 2.1, 2.9])
    >>> mean, std = model.predict([[4.0]], return_std=True)
    >>> bool(abs(mean[0] - 3.9) < 3 * std[0])
    True
    """

    def __init__(
        self,
        *,
        prior_precision: Any = "evidence",
        prior_covariance: Any = None,
        prior_mean: Any = 0.0,
        noise: float | Literal["evidence", "conjugate"] = "evidence",
        noise_shape: float = 1e-6,
        noise_rate: float = 1e-6,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.prior_covariance = prior_covariance
        self.prior_mean = prior_mean
        self.noise = noise
        self.noise_shape = noise_shape
        self.noise_rate = noise_rate
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows and their targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Columns; every cell a finite number. Or rows that are not in memory: a Parquet file or folder, an Arrow
            dataset, a memory-mapped array, batches, a Dask collection.
        y : array-like of shape (n_samples,)
            Targets; of files the name of a column.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        """
        return self._solve(self._tally(X, y, sample_weight, reset=True))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those seen so far, and solve again.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        """
        first = not hasattr(self, "counts_")
        moments = self._tally(X, y, sample_weight, reset=first)
        return self._solve(moments if first else self._moments + moments)

    def predict(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Posterior mean of every row's target, and the standard deviation of a new observation.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to return the standard deviations as well.
        """
        table = self._read_rows(X)
        mean = self._means(table)
        if not return_std:
            return mean
        scale = np.sqrt(self.noise_variance_ + self._error(table) ** 2)
        return mean, scale * math.sqrt(_variance_factor(self.df_))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Coefficient of determination of the predictions.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        """
        if is_distant(X):
            check_is_fitted(self)
            return distant_score(self, X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def predict_interval(self, X: Any, *, kind: IntervalKind = "observation", level: float = 0.95) -> FloatArray:
        """Interval that holds every row's mean, or a new observation, with the given probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        kind : {"observation", "mean"}, default="observation"
            What the interval is for.
        level : float, default=0.95
            Posterior probability.

        Returns
        -------
        array of shape (n_samples, 2)
        """
        if kind not in ("mean", "observation"):
            raise InputError(f"kind={kind!r} is no kind of interval; expected 'mean' or 'observation'.")
        table = self._read_rows(X)
        mean, error = self._means(table), self._error(table)
        if kind == "observation":
            error = np.sqrt(self.noise_variance_ + error * error)
        reach = critical_value(check_level(level), self.df_) * error
        return np.column_stack([mean - reach, mean + reach])

    def sample_posterior(self, n_draws: int = 1, *, random_state: Any = None) -> PosteriorDraws:
        """Draw coefficients, intercept and noise variance from their joint posterior.

        Parameters
        ----------
        n_draws : int, default=1
            How many.
        random_state : int, RandomState or None
            Seed.
        """
        check_is_fitted(self)
        random = check_random_state(random_state)
        size = self.coef_.size
        values, vectors = np.linalg.eigh(self._scale)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        noise = np.full(n_draws, self.noise_variance_)
        if math.isfinite(self.df_):
            # rate / shape times shape over a gamma variable of that shape: inverse gamma.
            noise = noise * (0.5 * self.df_) / random.standard_gamma(0.5 * self.df_, n_draws)
        spread = np.sqrt(noise / self.noise_variance_)
        shifts = spread[:, None] * (random.standard_normal((n_draws, size)) @ root.T)
        coef = self.coef_ + shifts
        intercept = np.full(n_draws, self.intercept_)
        if self.fit_intercept:
            middle = np.sqrt(noise / self.n_observations_) * random.standard_normal(n_draws)
            intercept = intercept - shifts @ self._middle + middle
        return PosteriorDraws(coef, intercept, noise)

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """Posterior means, standard deviations and intervals; ``str()`` of it is text, ``.frame()`` a data frame.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of the intervals.
        """
        check_is_fitted(self)
        names = column_names(self)
        estimates, errors = self.coef_, np.sqrt(np.diag(self._scale))
        if self.fit_intercept:
            at_zero = self._middle @ self._scale @ self._middle + self.noise_variance_ / self.n_observations_
            names = ["(intercept)", *names]
            estimates = np.concatenate([[self.intercept_], estimates])
            errors = np.concatenate([[math.sqrt(at_zero)], errors])
        return CoefficientTable(
            names,
            estimates,
            errors,
            df=self.df_,
            level=check_level(level),
            title="Bayesian linear regression",
            facts={
                "observations": float(self.n_observations_),
                "noise variance": self.noise_variance_,
                "prior precision": self.prior_precision_,
                "effective coefficients": self.effective_coefficients_,
                "log evidence": self.log_evidence_,
            },
        )

    def _tally(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Moments:
        check_noise(self.noise, self.noise_shape, self.noise_rate)
        if lies_elsewhere(X):
            return self._tally_distant(X, y, sample_weight)
        table = read_table(self, X, reset=reset)
        check_width(table.shape[1], "The posterior covariance", "Select or hash columns first.")
        target, _ = read_target(GaussianFamily(), y, table.shape[0])
        weight = read_weights(sample_weight, table.shape[0])
        if weight is not None and not (weight > 0.0).any():
            raise InputError("All weights are zero: there is no row to fit to.")
        check_finite(table, column_names(self))
        check_sizes(table, target, column_names(self), LARGEST_SIZE)
        with single_threaded_blas():
            return tally_moments(Design(table), target, weight, ThreadExecutor(self.n_jobs))

    def _tally_distant(self, X: Any, y: Any, sample_weight: Any) -> Moments:
        with single_threaded_blas():
            seen, rows = distant_table(
                self, X, y, sample_weight, family=GaussianFamily(), fit_intercept=True, always_center=True
            )
            check_width(seen.form.n_features, "The posterior covariance", "Select or hash columns first.")
            middle = float(seen.survey.target.values.mean[0])
            return tally_distant_moments(rows, seen.form, middle, ThreadExecutor(self.n_jobs))

    def _solve(self, moments: Moments) -> Self:
        """Posterior from the counts; everything fitted is written here, once."""
        prior, scales_prior = read_prior(
            self.prior_precision, self.prior_covariance, self.prior_mean, self.n_features_in_
        )
        if self.noise == "conjugate":
            posterior = conjugate_posterior(
                moments,
                prior,
                NoisePrior(self.noise_shape, self.noise_rate),
                scales_prior=scales_prior,
                fit_intercept=self.fit_intercept,
            )
        else:
            posterior = evidence_posterior(
                moments,
                prior,
                noise_variance=None if isinstance(self.noise, str) else float(self.noise),
                scales_prior=scales_prior,
                fit_intercept=self.fit_intercept,
            )
        self._keep(moments, posterior)
        return self

    def _keep(self, moments: Moments, posterior: Posterior) -> None:
        mean = moments.mean[:, 0]
        self._moments = moments
        self.counts_ = Counts({"moments": moments})
        self.coef_ = posterior.mean
        self._middle = mean[:-1]
        self._scale = posterior.scale
        self.intercept_ = float(mean[-1] - mean[:-1] @ posterior.mean) if self.fit_intercept else 0.0
        self.df_ = posterior.df
        self.covariance_ = _variance_factor(posterior.df) * posterior.scale
        self.noise_variance_ = posterior.noise_variance
        self.prior_precision_ = posterior.prior_precision
        self.log_evidence_ = posterior.log_evidence
        self.effective_coefficients_ = posterior.effective_coefficients
        self.n_observations_ = float(moments.weight[0, 0])

    def _read_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        table = read_table(self, X, reset=False)
        check_finite(table, column_names(self))
        return table

    def _means(self, table: Any) -> FloatArray:
        design = Design(table, fit_intercept=True)
        coef = np.concatenate([[self.intercept_], self.coef_])
        answer, scratch = np.empty(table.shape[0]), design.scratch()
        for rows in design.slices():
            answer[rows] = design.load(rows, scratch).predictor(coef)
        return answer

    def _error(self, table: Any) -> FloatArray:
        """Posterior standard deviation (scale of the t) of every row's mean."""
        if not self.fit_intercept:
            return predictor_error(Design(table, fit_intercept=False), self._scale)
        # About the means of the columns, the intercept is independent of the coefficients.
        corner = np.array([[self.noise_variance_ / self.n_observations_]])
        size = self.coef_.size
        design = Design(table)
        if not design.is_sparse:
            joint = np.block([[corner, np.zeros((1, size))], [np.zeros((size, 1)), self._scale]])
            return predictor_error(replace(design, center=self._middle), joint)
        cross = -(self._scale @ self._middle)[:, None]
        joint = np.block([[corner - self._middle @ cross, cross.T], [cross, self._scale]])
        return predictor_error(design, joint)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn's checks may try."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _variance_factor(df: float) -> float:
    """Variance of a t distribution with scale 1; infinite where it has none."""
    if math.isinf(df):
        return 1.0
    return df / (df - 2.0) if df > 2.0 else math.inf
