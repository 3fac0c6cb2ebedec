"""Logistic regression as a scikit-learn classifier with standard errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from softcount._errors import InputError
from softcount._types import FloatArray, Table
from softcount.core.blas_threads import single_threaded_blas
from softcount.core.execute import ThreadExecutor
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.fit import LogisticFit, LogisticProblem, fit_logistic
from softcount.core.logistic.inference import LogisticInference, infer, is_affordable, symmetric
from softcount.core.logistic.methods import Solver
from softcount.core.progress import step_printer
from softcount.estimators._fitting import current_journal, one_fit
from softcount.estimators._linear_table import column_names, read_table
from softcount.estimators._saving import Savable
from softcount.estimators.distant.face import AnswersInBatches
from softcount.estimators.distant.sources import lies_elsewhere
from softcount.estimators.logistic.answers import LogisticAnswers
from softcount.estimators.logistic.distant import distant_data
from softcount.estimators.logistic.inputs import (
    Strength,
    check_number,
    check_whole,
    make_data,
    make_penalty,
    read_design,
    read_offsets,
    read_solver,
    read_start,
    read_strength,
)
from softcount.estimators.logistic.targets import Targets, read_targets, with_class_weight, without_empty_classes
from softcount.estimators.logistic.trouble import aliased_names, explain_separation, separated_names, warn_about
from softcount.inputs.weights import read_weights

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["LogisticRegression"]


class LogisticRegression(AnswersInBatches, LogisticAnswers, Savable, ClassifierMixin, BaseEstimator):
    r"""Logistic regression, binary and softmax: the discriminative twin of naive Bayes.

    .. math:: P(y = 1 \mid x) = \sigma(x^\top w + b), \qquad
              P(y = k \mid x) = \frac{e^{x^\top w_k + b_k}}{\sum_l e^{x^\top w_l + b_l}}

    The coefficients maximize the log-likelihood less the penalty of scikit-learn's ``LogisticRegression``,

    .. math:: \sum_i s_i \log P(y_i \mid x_i)
              - \frac{1}{C} \Bigl(\rho \lVert w \rVert_1 + \frac{1 - \rho}{2} \lVert w \rVert_2^2\Bigr),

    with ``l1_ratio`` :math:`\rho`; the intercept is not penalized. Every solver reaches the same optimum; they differ
    in speed alone.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet"} or None, deprecated
        As in scikit-learn, replaced by ``l1_ratio`` and ``C``.
    C : float, default=1.0
        Inverse strength of the penalty; ``np.inf`` for none: maximum likelihood.
    l1_ratio : float, default=0.0
        Share of the absolute values in the penalty: 0 is L2, 1 is L1.
    dual : bool, default=False
        For scikit-learn's signature; the dual problem is not solved here.
    tol : float, default=1e-8
        Converged when the next step would change the linear predictor by no more than this (root mean square over the
        rows). Much smaller than scikit-learn's, which bounds a gradient: this one bounds the error, so that all
        solvers agree. 0 runs exactly ``max_iter`` iterations.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1
        For scikit-learn's signature; the intercept is not penalized here, so there is nothing to scale.
    class_weight : dict, "balanced" or None, default=None
        Weight of every class, multiplied with the rows' weights.
    random_state : int, RandomState or None
        For scikit-learn's signature; nothing here is random.
    solver : str, default="auto"
        ``"newton"`` (Cholesky, step halving), ``"irls"`` (the same step as weighted least squares), ``"lbfgs"``
        (limited-memory BFGS started from the curvature of part of the rows), ``"gradient"`` (accelerated gradient
        ascent), ``"newton-cg"`` (conjugate gradients, for many thousand columns), or ``"auto"``, which chooses by the
        number of rows and coefficients. ``"newton-cholesky"`` is scikit-learn's name for ``"newton"``.
    max_iter : int, default=10000
        Most iterations. Newton's method needs a handful; gradient ascent may need thousands.
    verbose : int, default=0
        1 prints every tenth iteration to standard error, 2 every one.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    n_jobs : int, optional
        Threads; all usable cores by default. The result does not depend on it.
    classes : array-like, optional
        All classes, in the order of the columns where ``y`` is a matrix of class probabilities.
    missing_label : scalar, default=nan
        Marker of a missing label; NaN, None and ``pd.NA`` always are.
    from_generative : estimator, optional
        Fills in missing labels with its posterior probabilities: a fitted classifier with ``predict_proba``, or an
        unfitted one, which is fitted to all rows. Without it missing labels are refused.
    init : estimator or pair of arrays, optional
        Where to start: anything with ``to_linear()`` (every generative model with a linear boundary), a fitted linear
        classifier, or ``(coef, intercept)``.
    inference : bool or "auto", default="auto"
        Whether to compute standard errors; ``"auto"`` does unless they would cost more than the fit.

    Attributes
    ----------
    classes_, n_features_in_ : array of shape (n_classes,) and int
        Labels, and number of columns.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Coefficients: of the log odds of the second of two classes, or one row per class, whose mean is zero without
        an absolute-value penalty. 0 for aliased columns.
    intercept_ : array of shape (1,) or (n_classes,)
        Intercepts; 0 without one.
    standard_errors_ : array like ``coef_``
        Standard errors; not a number for aliased columns, and everywhere with ``l1_ratio > 0`` or without inference.
    intercept_standard_errors_ : array like ``intercept_``
        Those of the intercepts.
    covariance_ : array of shape (n, n) or None
        Covariance of the coefficients in the order of ``coefficient_names_``.
    coefficient_names_ : list of str
        Class by class, the intercept first.
    log_likelihood_ : float
        At the fit, without the penalty.
    n_parameters_ : float
        Effective number of parameters: with an L2 penalty less than the number of coefficients, with L1 the nonzero
        ones. Without inference the number of coefficients.
    aic_, bic_ : float
        Criteria from it.
    n_observations_ : float
        Sum of the weights.
    aliased_ : list of str
        Columns left out because the columns before them explain them (without a penalty).
    separated_ : list of str
        Columns that sort the classes without error (without a penalty).
    separation_ : str or None
        How they do it, in words.
    solver_ : str
        The solver that was used.
    n_iter_, history_, converged_ : array of shape (1,), list and bool
        Iterations, the objective after each, and whether they converged.

    Notes
    -----
    **Weights.** A weight of k is k copies of the row, in coefficients, standard errors and criteria; 0 leaves it out.

    **Separation.** When the columns sort the classes without error, no maximum of the likelihood exists. The fit then
    says which columns do so, in a warning and in ``separation_``, and answers with the maximum under a weak normal
    prior: standard deviation 10 for the coefficient of a column divided by its standard deviation.

    **Collinear columns.** Without a penalty a column that the columns before it explain gets the coefficient 0; the
    intercept comes first. With a penalty every column is kept.

    Examples
    --------
    >>> import numpy as np
    >>> dose = np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [3.0], [3.0]])
    >>> ill = np.array(["no", "no", "no", "yes", "no", "yes", "yes", "yes"])
    >>> model = LogisticRegression(C=np.inf).fit(dose, ill)
    >>> model.coef_.round(3), model.standard_errors_.round(3)
    (array([[1.742]]), array([[1.132]]))
    """

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-8,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 10_000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        classes: Any = None,
        missing_label: Any = math.nan,
        from_generative: Any = None,
        init: Any = None,
        inference: bool | Literal["auto"] = "auto",
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.classes = classes
        self.missing_label = missing_label
        self.from_generative = from_generative
        self.init = init
        self.inference = inference

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Fit to rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Columns; every cell a finite number. Or rows that are not in memory: a Parquet file or folder, an Arrow
            dataset, a memory-mapped array, batches, a Dask collection; then Newton's method or conjugate gradients
            reads them once per step.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels of any type, or a row of class probabilities per row; of files the name of a column, or a tuple of
            one for every class.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Added to the linear predictor with coefficient 1: the log odds of the second of two classes, or a score
            per class.
        """
        with one_fit(self):
            strength = read_strength(self.penalty, self.C, self.l1_ratio)
            solver = self._check_parameters()
            if lies_elsewhere(X):
                return self._fit_distant(X, y, sample_weight, offset, strength=strength, solver=solver)
            table = read_table(self, X, reset=True)
            weight = read_weights(sample_weight, table.shape[0])
            targets = read_targets(
                y,
                X,
                sample_weight,
                n_rows=table.shape[0],
                classes=self.classes,
                missing_label=self.missing_label,
                from_generative=self.from_generative,
            )
            targets = without_empty_classes(targets, weight, were_named=self.classes is not None)
            targets, weight = with_class_weight(targets, weight, self.class_weight)
            targets = without_empty_classes(targets, weight, were_named=self.classes is not None)
            shift = read_offsets(offset, table.shape[0], targets.classes.size)
            with single_threaded_blas():
                self._fit_rows(table, targets, weight, shift, strength=strength, solver=solver)
        return self

    def _fit_rows(
        self,
        table: Table,
        targets: Targets,
        weight: FloatArray | None,
        shift: FloatArray | None,
        *,
        strength: Strength,
        solver: Solver,
    ) -> None:
        names = column_names(self)
        executor = ThreadExecutor(self.n_jobs)
        design, careful, scale = read_design(
            table, names, executor, fit_intercept=bool(self.fit_intercept), always=solver == "gradient"
        )
        data = make_data(design, targets, weight, shift, strength, careful=careful)
        self._fit_data(data, targets.classes, scale, executor, strength=strength, solver=solver)

    def _fit_distant(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, *, strength: Strength, solver: Solver
    ) -> Self:
        """Fit to rows that are not in memory."""
        executor = ThreadExecutor(self.n_jobs)
        with single_threaded_blas():
            data, classes, scale = distant_data(
                self, X, y, sample_weight, offset, strength=strength, always_center=solver == "gradient"
            )
            self._fit_data(data, classes, scale, executor, strength=strength, solver=solver)
        return self

    def _fit_data(
        self,
        data: LogisticData,
        classes: Any,
        scale: FloatArray | None,
        executor: ThreadExecutor,
        *,
        strength: Strength,
        solver: Solver,
    ) -> None:
        """Fit, infer, and write everything down."""
        names = column_names(self)
        wanted = is_affordable(data) if self.inference == "auto" else bool(self.inference)
        problem = LogisticProblem(
            data,
            make_penalty(data, strength, scale),
            solver,
            int(self.max_iter),
            float(self.tol),
            read_start(self._start(), data, scale),
            wanted,
            step_printer(type(self).__name__, self.verbose),
            current_journal(self),
        )
        fit = fit_logistic(problem, executor)
        inference = infer(fit, data, executor, wanted=wanted)
        separation = explain_separation(fit, data, classes, names, scale, executor=executor)
        aliased = aliased_names(fit, names, fit_intercept=bool(self.fit_intercept))
        warn_about(fit, aliased, separation, tol=self.tol, max_iter=self.max_iter)
        self.classes_ = classes
        self.aliased_, self.separation_ = aliased, separation
        self.separated_ = separated_names(fit, names, fit_intercept=bool(self.fit_intercept))
        self._penalty_strength, self._penalty_l1_ratio = strength.strength, strength.l1_ratio
        self._keep(fit, inference, data, scale, names)

    def _start(self) -> Any:
        """What to start from: the last fit, or what was asked for."""
        if self.warm_start and hasattr(self, "coef_"):
            return self.coef_, self.intercept_
        return self.init

    def _keep(
        self,
        fit: LogisticFit,
        inference: LogisticInference,
        data: LogisticData,
        scale: FloatArray | None,
        names: list[str],
    ) -> None:
        """Write everything fitting gives, once, at the end."""
        first = int(data.design.fit_intercept)
        factors = np.ones(data.n_columns)
        if scale is not None:
            factors[first:] = scale
        coef = data.design.uncentered(symmetric(fit.coef, data)) / factors
        if first and len(coef) > 1:
            coef[:, 0] -= coef[:, 0].mean()
        errors = np.full(coef.shape, np.nan)
        covariance = inference.covariance
        if covariance is not None:
            wide = np.tile(factors, coef.shape[0])
            errors = np.sqrt(np.maximum(np.diag(covariance), 0.0)).reshape(coef.shape) / factors
            with np.errstate(over="ignore", divide="ignore"):
                covariance = covariance / wide / wide[:, None]
            errors[:, ~fit.kept] = np.nan
        terms = ["(intercept)", *names] if first else names
        self.coef_ = coef[:, first:].copy()
        self.intercept_ = coef[:, 0].copy() if first else np.zeros(coef.shape[0])
        self.standard_errors_ = errors[:, first:].copy()
        self.intercept_standard_errors_ = errors[:, 0].copy() if first else np.full(coef.shape[0], np.nan)
        self.covariance_ = covariance
        self.coefficient_names_ = terms if len(coef) == 1 else [f"{k}: {t}" for k in self.classes_ for t in terms]
        self.log_likelihood_ = fit.log_likelihood
        self.n_parameters_ = inference.n_parameters
        self.n_observations_ = data.total_weight
        self.aic_ = 2.0 * self.n_parameters_ - 2.0 * self.log_likelihood_
        self.bic_ = math.log(self.n_observations_) * self.n_parameters_ - 2.0 * self.log_likelihood_
        self.solver_ = fit.solver
        self.n_iter_ = np.array([fit.n_iter], dtype=np.int32)
        self.converged_ = fit.converged
        self.history_ = list(fit.history)
        self._has_intercept = bool(first)

    def _check_parameters(self) -> Solver:
        """Refuse parameters no fit can have; the solver's own name is returned."""
        check_number("tol", self.tol, low=0.0, high=math.inf)
        check_whole("max_iter", self.max_iter, low=0)
        if self.dual:
            raise InputError("dual=True is scikit-learn's option for liblinear; here the primal is solved. Use False.")
        if self.intercept_scaling != 1:
            raise InputError(
                f"intercept_scaling is {self.intercept_scaling!r}; the intercept is not penalized, so it has to be 1."
            )
        if not (self.inference == "auto" or isinstance(self.inference, bool | np.bool_)):
            raise InputError(f"inference is {self.inference!r}; expected True, False or 'auto'.")
        if not (self.class_weight is None or self.class_weight == "balanced" or isinstance(self.class_weight, dict)):
            raise InputError(f"class_weight is {self.class_weight!r}; expected a dict, 'balanced' or None.")
        return cast("Solver", read_solver(self.solver))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
