"""Generalized linear models as a scikit-learn regressor with standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from softcount._errors import InputError
from softcount._types import Table
from softcount.core.blas_threads import single_threaded_blas
from softcount.core.execute import ThreadExecutor
from softcount.core.glm.data import GLMData
from softcount.core.glm.families import GLMFamily, NegativeBinomialFamily, resolve_family
from softcount.core.glm.fit import GLMFit, GLMProblem, fit_glm
from softcount.core.glm.inference import CovarianceKind, DispersionKind, GLMInference, infer
from softcount.core.glm.links import Link, resolve_link
from softcount.core.glm.start import null_deviance
from softcount.core.logistic.methods import MOST_COEFFICIENTS
from softcount.core.normal_equations import Design
from softcount.core.progress import step_printer
from softcount.estimators._fitting import current_journal, one_fit
from softcount.estimators._linear_table import check_width, column_names, read_table
from softcount.estimators._saving import Savable
from softcount.estimators.distant.face import AnswersInBatches
from softcount.estimators.distant.sources import lies_elsewhere
from softcount.estimators.glm.answers import GLMAnswers
from softcount.estimators.glm.distant import read_distant
from softcount.estimators.glm.formula import fit_formula
from softcount.estimators.glm.inputs import check_parameters, read_data, read_offset
from softcount.estimators.glm.trouble import warn_about

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["GLM"]


class GLM(AnswersInBatches, GLMAnswers, Savable, RegressorMixin, BaseEstimator):
    r"""Generalized linear model: the mean of ``y`` is a function of a linear predictor.

    .. math:: g(\mu_i) = x_i^\top \beta + o_i, \qquad
              \operatorname{Var}[y_i] = \frac{\phi}{w_i} V(\mu_i)

    The coefficients minimize half the mean deviance plus an elastic-net penalty,

    .. math:: \frac{1}{2 \sum_i w_i} \sum_i w_i\, d(y_i, \mu_i)
              + \alpha \Bigl(\rho \lVert\beta\rVert_1 + \frac{1 - \rho}{2} \lVert\beta\rVert_2^2\Bigr),

    with ``alpha`` :math:`\alpha` and ``l1_ratio`` :math:`\rho`; the intercept is not penalized. This is the
    objective of glum and of scikit-learn's ``PoissonRegressor``, ``GammaRegressor`` and ``TweedieRegressor``.
    The default is no penalty: maximum likelihood, with standard errors.

    Parameters
    ----------
    family : str or GLMFamily, default="gaussian"
        ``"gaussian"``, ``"binomial"``, ``"poisson"``, ``"gamma"``, ``"inverse_gaussian"``,
        ``"negative_binomial"``, ``"tweedie"``, ``"quasibinomial"`` or ``"quasipoisson"``.
    link : str or Link, optional
        ``"identity"``, ``"log"``, ``"logit"``, ``"probit"``, ``"cloglog"``, ``"loglog"``, ``"cauchit"``,
        ``"inverse"``, ``"inverse_squared"``, ``"sqrt"`` or ``Power(exponent)``. By default the family's
        canonical link (the log for negative binomial and Tweedie, but for ``power=0`` the identity).
    alpha : float, default=0.0
        Strength of the penalty.
    l1_ratio : float, default=0.0
        Share of the absolute values in the penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    theta : float, optional
        Shape of the negative binomial family; estimated by maximum likelihood when not given.
    power : float, default=1.5
        Variance power of the Tweedie family.
    dispersion : {"pearson", "deviance"} or float, optional
        How the dispersion is estimated, or its value. By default 1 where the family fixes it, else Pearson's
        estimate.
    covariance : {"model", "sandwich", "HC0", "HC1", "HC2", "HC3"}, default="model"
        Standard errors from the model, or robust ones that hold when the variance function does not: ``"sandwich"``
        is ``"HC0"``; the others correct it for few rows.
    inference : bool or "auto", default="auto"
        Whether to form the information matrix, which standard errors, effective numbers of coefficients and intervals
        come from. ``"auto"`` does so for up to 2,500 columns (up to 20,000 where a robust ``covariance`` or an
        estimated ``theta`` asks for it); ``True`` for up to 20,000. Without it the fit takes any number of columns,
        sparse ones in particular, and no matrix of them is ever formed.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-12
        Converged when the gain of the objective, and the gain still expected, are at most this share of it; 0
        runs exactly ``max_iter`` iterations.
    n_jobs : int, optional
        Threads; all usable cores by default. The result does not depend on it.
    verbose : int, default=0
        1 prints every tenth iteration to standard error, 2 every one.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Coefficients; 0 for aliased columns.
    intercept_ : float
        Intercept, 0 without one.
    standard_errors_ : array of shape (n_features,)
        Standard errors of ``coef_``; not a number for aliased columns, and everywhere with ``l1_ratio > 0``:
        no formula accounts for columns having been chosen by looking at the data; and without inference.
    intercept_standard_error_ : float
        That of the intercept.
    covariance_ : array of shape (n_coefficients, n_coefficients) or None
        Covariance of the coefficients in the order of ``coefficient_names_``, the intercept first; None without
        inference.
    coefficient_names_ : list of str
        Names, the intercept first.
    aliased_ : list of str
        Columns left out because the columns before them explain them.
    separated_ : list of str
        Columns whose coefficients grow without bound because they separate the outcomes.
    deviance_, null_deviance_ : float
        Total deviance of the fit, and of the intercept and offset alone.
    dispersion_, pearson_chi2_, dispersion_is_estimated_, n_features_in_
        The dispersion, Pearson's statistic, whether the one was estimated, and the number of columns.
    log_likelihood_ : float
        At the maximum-likelihood dispersion (Tweedie: at ``dispersion_``); not a number for quasi families.
    aic_, bic_ : float
        Criteria from it; an estimated dispersion or theta counts as a parameter.
    theta_ : float
        Theta of a negative binomial family.
    n_parameters_ : float
        Effective number of coefficients, plus one for an estimated dispersion, plus one for an estimated
        theta.
    df_residual_ : float
        Observations beyond the effective number of coefficients. Without inference neither is known (not a number),
        nor is what follows from it, unless ``l1_ratio > 0``: then it is the number of coefficients that are not zero.
    n_observations_ : float
        Rows with a weight, each counted ``frequency_weight`` times.
    n_iter_, converged_, history_
        Iterations, whether they converged, and the objective after each.
    family_, link_
        The family and link in use.

    Notes
    -----
    **Weights.** ``frequency_weight`` k stands for k copies of the row, in coefficients, standard errors,
    degrees of freedom and criteria. ``sample_weight`` is a precision weight: it divides the row's dispersion
    (the row is a mean of that many observations; for a binomial proportion, the number of trials). Both give
    the same coefficients; they differ in how many observations there are. A weight of 0 leaves the row out.

    Examples
    --------
    Deaths among smokers and others, by dose (counts out of n):

    >>> import numpy as np
    >>> dose = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> cases = np.array([[1, 19], [4, 16], [9, 11], [13, 7]])
    >>> model = GLM("binomial").fit(dose, cases)
    >>> model.coef_.round(3), model.standard_errors_.round(3)
    (array([1.108]), array([0.282]))
    """

    def __init__(
        self,
        family: str | GLMFamily = "gaussian",
        link: str | Link | None = None,
        *,
        alpha: float = 0.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        theta: float | None = None,
        power: float = 1.5,
        dispersion: DispersionKind | float | None = None,
        covariance: CovarianceKind = "model",
        inference: bool | Literal["auto"] = "auto",
        max_iter: int = 100,
        tol: float = 1e-12,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.theta = theta
        self.power = power
        self.dispersion = dispersion
        self.covariance = covariance
        self.inference = inference
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        frequency_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Self:
        """Fit to rows and their targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Columns; every cell a finite number. Or rows that are not in memory: a Parquet file or folder, an Arrow
            dataset, a memory-mapped array, batches, a Dask collection; of tables ``y``, weights and offsets may be
            names of columns.
        y : array-like of shape (n_samples,), or (n_samples, 2) for a binomial family
            Targets, or counts of successes and failures; of files the name of a column, or a tuple of two.
        sample_weight : array-like of shape (n_samples,), optional
            Precision weights; with a proportion as target, numbers of trials.
        frequency_weight : array-like of shape (n_samples,), optional
            How often each row was observed.
        offset : array-like of shape (n_samples,), optional
            Added to the linear predictor with coefficient 1.
        exposure : array-like of shape (n_samples,), optional
            Multiplies the mean (its logarithm is an offset); needs the log link.
        """
        with one_fit(self):
            weights = {"sample_weight": sample_weight, "frequency_weight": frequency_weight}
            shifts = {"offset": offset, "exposure": exposure}
            if lies_elsewhere(X):
                batches = partial(read_distant, self, X, y, {**weights, **shifts}, fit_intercept=self.fit_intercept)
                self._fit_rows(lambda f, g: batches(family=f, link=g), fit_intercept=self.fit_intercept)
            else:
                table = read_table(self, X, reset=True)
                read = self._table_reader(table, y, weights, shifts, fit_intercept=self.fit_intercept)
                self._fit_rows(read, fit_intercept=self.fit_intercept)
            self._formula = None
        return self

    @classmethod
    def from_formula(cls, formula: str, data: Any, **params: Any) -> Self:
        """A model fitted by :meth:`fit_formula`; ``params`` are those of the constructor and of ``fit``."""
        of_fit = ("sample_weight", "frequency_weight", "offset", "exposure")
        fitting = {name: params.pop(name) for name in of_fit if name in params}
        return cls(**params).fit_formula(formula, data, **fitting)

    def fit_formula(self, formula: str, data: Any, **fitting: Any) -> Self:
        """Fit to a data frame by a formula such as ``"claims ~ age + C(region)"``.

        The formula decides on the intercept (``- 1`` removes it). Two targets, ``"cases + controls ~ dose"``,
        are successes and failures of a binomial family. Needs the extra ``softcount[formula]``.

        Parameters
        ----------
        formula : str
            Target, a tilde, and terms, in the language of formulaic.
        data : data frame
            Where the names of the formula are looked up. Missing values are refused.
        **fitting
            Keyword arguments of :meth:`fit`; a string is the name of a column of ``data``, here and in predictions.
        """
        read = fit_formula(formula, data, fitting)
        with one_fit(self):
            table = read_table(self, read.table, reset=True, fewest_columns=0)
            weights = {name: read.fitting.get(name) for name in ("sample_weight", "frequency_weight")}
            shifts = {name: read.fitting.get(name) for name in ("offset", "exposure")}
            whether = read.fit.fit_intercept
            reading = self._table_reader(table, read.target, weights, shifts, fit_intercept=whether)
            self._fit_rows(reading, fit_intercept=whether)
            self._formula = read.fit
        return self

    def _table_reader(
        self,
        table: Table,
        y: Any,
        weights: dict[str, Any],
        shifts: dict[str, Any],
        *,
        fit_intercept: bool,
    ) -> Callable[[GLMFamily, Link], GLMData]:
        def read(family: GLMFamily, link: Link) -> GLMData:
            return read_data(
                table,
                column_names(self),
                y,
                family=family,
                fit_intercept=fit_intercept,
                executor=ThreadExecutor(self.n_jobs),
                offset=read_offset(link, shifts["offset"], shifts["exposure"], table.shape[0]),
                **weights,
            )

        return read

    def _fit_rows(self, reading: Callable[[GLMFamily, Link], GLMData], *, fit_intercept: bool) -> None:
        """Read the rows for the family and link, fit, and write everything down."""
        check_parameters(self)
        family = resolve_family(self.family, theta=self.theta or 1.0, power=self.power)
        link = resolve_link(self._default_link(family) if self.link is None else self.link)
        executor = ThreadExecutor(self.n_jobs)
        with single_threaded_blas():
            data = reading(family, link)
            names = column_names(self)
            estimates_theta = family.name == "negative_binomial" and self.theta is None
            if isinstance(self.family, NegativeBinomialFamily):
                estimates_theta = False
            matrix_free = self._is_matrix_free(len(names), estimates_theta=estimates_theta)
            problem = GLMProblem(family, link, data, self.alpha, self.l1_ratio, estimates_theta)
            on_step = step_printer(type(self).__name__, self.verbose)
            found = fit_glm(
                problem,
                executor,
                max_iter=self.max_iter,
                tol=self.tol,
                on_step=on_step,
                matrix_free=matrix_free,
                journal=current_journal(self),
            )
            inference = infer(
                found,
                data,
                executor,
                covariance=self.covariance,
                dispersion=self.dispersion,
            )
            family = found.model.family_at(found.fit.params)
            null = null_deviance(family, link, data, executor)
        labels = ["(intercept)", *names] if fit_intercept else names
        warn_about(found, labels, self.tol, self.max_iter)
        self._keep(found, inference, data.design, labels)
        self.family_, self.link_, self.null_deviance_ = family, link, null

    def _keep(self, found: GLMFit, inference: GLMInference, design: Design, labels: list[str]) -> None:
        """Write everything fitting gives, once, at the end."""
        coef = design.uncentered(found.fit.params.coef)
        errors = np.full(coef.shape, np.nan)
        if inference.covariance is not None:
            errors = np.sqrt(np.diag(inference.covariance))
            errors[found.aliased] = np.nan
        first = int(design.fit_intercept)
        self.coef_ = coef[first:]
        self.intercept_ = float(coef[0]) if first else 0.0
        self.standard_errors_ = errors[first:]
        self.intercept_standard_error_ = float(errors[0]) if first else math.nan
        self.covariance_ = inference.covariance
        # Intervals are computed in the shifted columns, where a large mean costs no digits.
        self._center, self._shifted_covariance = design.center, inference.shifted_covariance
        self.coefficient_names_ = labels
        self.aliased_ = [name for name, out in zip(labels, found.aliased, strict=True) if out]
        self.separated_ = [name for name, out in zip(labels, found.diverging, strict=True) if out]
        self.deviance_ = found.deviance
        self.pearson_chi2_ = found.pearson
        self.dispersion_ = inference.dispersion
        self.log_likelihood_ = inference.log_likelihood
        self.n_observations_ = inference.n_observations
        self.df_residual_ = inference.df_residual
        self.dispersion_is_estimated_ = self.dispersion in ("pearson", "deviance") or (
            self.dispersion is None and found.model.family.fixed_dispersion is None
        )
        # The likelihood of a family with a fixed dispersion has none to estimate, whatever the errors use.
        estimated = int(found.model.family.fixed_dispersion is None) + int(found.model.estimates_theta)
        self.n_parameters_ = inference.effective_coefficients + estimated
        self.aic_ = 2.0 * self.n_parameters_ - 2.0 * self.log_likelihood_
        self.bic_ = math.log(self.n_observations_) * self.n_parameters_ - 2.0 * self.log_likelihood_
        if math.isfinite(found.fit.params.theta):
            self.theta_ = found.fit.params.theta
        elif isinstance(found.model.family, NegativeBinomialFamily):
            self.theta_ = found.model.family.theta
        self._is_penalized = self.alpha > 0.0
        self.n_iter_ = found.fit.n_iter
        self.converged_ = found.fit.converged and not found.is_stuck
        self.history_ = list(found.fit.history)

    def _default_link(self, family: GLMFamily) -> str:
        """The family's; a Tweedie family keeps its logarithm when its power makes it one with a name of its own."""
        is_named_power = self.family == "tweedie" and family.name in ("gamma", "inverse_gaussian")
        return "log" if is_named_power else family.default_link

    def _is_matrix_free(self, n_columns: int, *, estimates_theta: bool) -> bool:
        """Whether to fit without a matrix of the columns; refuses what cannot be had without one."""
        reason = way_out = ""
        if self.inference is True:
            reason, way_out = "inference=True", "Use inference='auto'."
        elif estimates_theta:
            reason, way_out = "Estimating theta", "Give theta, or use family='poisson'."
        elif self.covariance != "model":
            reason, way_out = f"covariance={self.covariance!r}", "Use covariance='model'."
        if not reason:
            return self.inference is False or n_columns > MOST_COEFFICIENTS
        if self.inference is False:
            raise InputError(f"{reason} needs the information matrix, and inference=False rules it out. {way_out}")
        check_width(n_columns, reason, way_out)
        return False

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn's checks may try."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        name = self.family if isinstance(self.family, str) else self.family.name
        tags.target_tags.positive_only = name in {"gamma", "inverse_gaussian"}
        return tags
