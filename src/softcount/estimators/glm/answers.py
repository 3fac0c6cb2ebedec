"""What a fitted generalized linear model answers: predictions, intervals, residuals, the summary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray, Table
from softcount.core.execute import ThreadExecutor
from softcount.core.glm.data import GLMData
from softcount.core.glm.families import GLMFamily
from softcount.core.glm.inference import CovarianceKind
from softcount.core.glm.links import Link
from softcount.core.glm.start import null_deviance
from softcount.core.iterate import Step
from softcount.core.normal_equations import Design
from softcount.estimators._linear_table import check_finite, column_names, read_table
from softcount.estimators.coefficient_table import CoefficientTable, check_level, critical_value
from softcount.estimators.distant.sources import is_distant
from softcount.estimators.glm.distant import distant_score
from softcount.estimators.glm.formula import FormulaFit, column_of
from softcount.estimators.glm.inputs import read_offset, read_target
from softcount.estimators.glm.intervals import (
    IntervalKind,
    mean_interval,
    observation_interval,
    predictor_error,
)
from softcount.inputs.weights import read_weights

__all__ = ["GLMAnswers", "ResidualKind"]

ResidualKind = Literal["deviance", "pearson", "response", "working"]


class GLMAnswers:
    """The questions a fitted model answers."""

    n_jobs: int | None
    covariance: CovarianceKind
    inference: bool | Literal["auto"]
    coef_: FloatArray
    intercept_: float
    standard_errors_: FloatArray
    intercept_standard_error_: float
    covariance_: FloatArray | None
    coefficient_names_: list[str]
    aliased_: list[str]
    separated_: list[str]
    family_: GLMFamily
    link_: Link
    deviance_: float
    null_deviance_: float
    pearson_chi2_: float
    dispersion_: float
    dispersion_is_estimated_: bool
    log_likelihood_: float
    aic_: float
    bic_: float
    theta_: float
    n_observations_: float
    n_parameters_: float
    df_residual_: float
    n_iter_: int
    converged_: bool
    history_: list[Step]
    _formula: FormulaFit | None
    _is_penalized: bool
    _center: FloatArray | None
    _shifted_covariance: FloatArray | None

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> FloatArray:
        """Mean of every row.

        Parameters
        ----------
        X : array-like, sparse matrix, or (after a fit by formula) data frame of shape (n_samples, n_features)
            Rows.
        offset, exposure : array-like of shape (n_samples,), optional
            As in ``fit``. A model fitted with them predicts without them for offset 0 and exposure 1. After a fit by
            formula a string names a column of ``X``, here and below.
        """
        return self.link_inverse(self.linear_predictor(X, offset=offset, exposure=exposure))

    def linear_predictor(self, X: Any, *, offset: Any = None, exposure: Any = None) -> FloatArray:
        """``x' coef + intercept`` of every row, offset included."""
        offset, exposure = self._of_columns(X, offset=offset, exposure=exposure)
        return self._predictor(self._read_rows(X), offset, exposure)

    def link_inverse(self, predictor: FloatArray) -> FloatArray:
        """The means of linear predictors."""
        check_is_fitted(self)
        return self.link_.inverse(np.asarray(predictor, dtype=np.float64))[0]

    def predict_interval(
        self,
        X: Any,
        *,
        kind: IntervalKind = "mean",
        level: float = 0.95,
        offset: Any = None,
        exposure: Any = None,
        sample_weight: Any = None,
    ) -> FloatArray:
        """Interval around every row's prediction, shape ``(n_samples, 2)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        kind : {"mean", "observation"}, default="mean"
            Confidence interval for the mean, or prediction interval for a new observation.
        level : float, default=0.95
            Probability the interval is to hold.
        offset, exposure : array-like of shape (n_samples,), optional
            As in ``fit``.
        sample_weight : array-like of shape (n_samples,), optional
            Precision weight of the new observation: its number of trials for a binomial proportion.
        """
        if kind not in ("mean", "observation"):
            raise InputError(f"kind={kind!r} is no kind of interval; expected 'mean' or 'observation'.")
        level = check_level(level)
        offset, exposure, sample_weight = self._of_columns(
            X, offset=offset, exposure=exposure, sample_weight=sample_weight
        )
        table = self._read_rows(X)
        predictor = self._predictor(table, offset, exposure)
        if self._shifted_covariance is None:
            raise InputError(
                "predict_interval needs the covariance of the coefficients, and this fit formed none: it was asked for "
                f"inference={self.inference!r} with {self.coef_.size} columns. Use inference=True (up to 20,000 "
                "columns), or fewer columns."
            )
        error = predictor_error(Design(table, self._has_intercept(), self._center), self._shifted_covariance)
        if kind == "mean":
            reach = critical_value(level, self._df())
            return mean_interval(self.family_, self.link_, predictor, error, reach)
        weight = read_weights(sample_weight, table.shape[0])
        dispersion = np.full(predictor.shape, self.dispersion_)
        if weight is not None:
            if not (weight > 0.0).all():
                raise InputError("sample_weight of a new observation must be positive.")
            dispersion = dispersion / weight
        return observation_interval(self.family_, self.link_, predictor, error, dispersion, level=level, df=self._df())

    def residuals(
        self,
        X: Any,
        y: Any,
        *,
        kind: ResidualKind = "deviance",
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> FloatArray:
        r"""Residuals of some rows.

        ``"response"`` is :math:`y - \mu`, ``"pearson"`` :math:`(y-\mu)\sqrt{w / V(\mu)}`, ``"deviance"``
        :math:`\operatorname{sign}(y - \mu) \sqrt{w\,d(y, \mu)}` and ``"working"`` :math:`(y -
        \mu)\,d\eta/d\mu`.

        Parameters
        ----------
        X, y
            Rows and targets, as in ``fit``.
        kind : {"deviance", "pearson", "response", "working"}, default="deviance"
            Which residuals.
        sample_weight, offset, exposure : array-like of shape (n_samples,), optional
            As in ``fit``.
        """
        if kind not in ("deviance", "pearson", "response", "working"):
            raise InputError(
                f"kind={kind!r} is no kind of residual; expected 'deviance', 'pearson', 'response' or 'working'."
            )
        y, offset, exposure, sample_weight = self._of_columns(
            X, y=y, offset=offset, exposure=exposure, sample_weight=sample_weight
        )
        table = self._read_rows(X)
        target, weight = self._read_targets(y, table.shape[0], sample_weight)
        predictor = self._predictor(table, offset, exposure)
        mean, slope = self.link_.inverse(predictor)
        if kind == "response":
            return target - mean
        if kind == "working":
            with np.errstate(divide="ignore", invalid="ignore"):
                return (target - mean) / slope
        _, pearson, unit_deviance = self.family_.evaluate(self.link_, target, predictor)
        root = 1.0 if weight is None else np.sqrt(weight)
        if kind == "pearson":
            return root * pearson
        return np.asarray(np.sign(pearson) * root * np.sqrt(unit_deviance), dtype=np.float64)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        r"""Share of deviance explained, :math:`D^2 = 1 - D(y, \mu) / D(y, \text{null})`; R² for the Gaussian family.

        The null model is the best intercept for these targets, and the offset.
        """
        if is_distant(X):
            check_is_fitted(self)
            beside = {"offset": offset, "exposure": exposure}
            return distant_score(self, X, y, sample_weight, family=self.family_, link=self.link_, beside=beside)
        y, offset, exposure, sample_weight = self._of_columns(
            X, y=y, offset=offset, exposure=exposure, sample_weight=sample_weight
        )
        table = self._read_rows(X)
        target, weight = self._read_targets(y, table.shape[0], sample_weight)
        predictor = self._predictor(table, offset, exposure)
        unit_deviance = self.family_.evaluate(self.link_, target, predictor).unit_deviance
        deviance = float(unit_deviance.sum() if weight is None else weight @ unit_deviance)
        shift = read_offset(self.link_, offset, exposure, table.shape[0])
        bare = GLMData(Design(np.empty((target.size, 0))), target, weight, shift)
        null = null_deviance(self.family_, self.link_, bare, ThreadExecutor(1))
        return 1.0 - deviance / null if null > 0.0 else (1.0 if deviance == 0.0 else -math.inf)

    def _check_savable(self) -> None:
        """Refuse what a model file cannot keep: formulas are code, and only plain ones are data as well."""
        if self._formula is not None and self._formula.design is None:
            raise InputError(
                "The formula does more than a model file can keep: products of columns, C(column), and log, log2, "
                "log10, log1p, exp and sqrt of a column. Put what it computes into columns of the table instead."
            )

    def conf_int(self, level: float = 0.95) -> FloatArray:
        """Confidence intervals of the coefficients in the order of ``coefficient_names_``, shape ``(n, 2)``."""
        return self._table(level).intervals

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """The table of coefficients: ``str()`` of it is text, ``.frame()`` a data frame.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals.
        """
        return self._table(level)

    def _table(self, level: float) -> CoefficientTable:
        check_is_fitted(self)
        estimates, errors = self.coef_, self.standard_errors_
        if self._has_intercept():
            estimates = np.concatenate([[self.intercept_], estimates])
            errors = np.concatenate([[self.intercept_standard_error_], errors])
        facts: dict[str, object] = {
            "family": self.family_.name,
            "link": self.link_.name,
            "observations": float(self.n_observations_),
            "residual df": float(self.df_residual_),
            "deviance": self.deviance_,
            "null deviance": self.null_deviance_,
            "dispersion": self.dispersion_,
            "log-likelihood": self.log_likelihood_,
            "AIC": self.aic_,
            "BIC": self.bic_,
            "covariance": self.covariance,
            "iterations": f"{self.n_iter_}{'' if self.converged_ else ' (not converged)'}",
        }
        if hasattr(self, "theta_"):
            facts["theta"] = float(self.theta_)
        notes = []
        if self.aliased_:
            notes.append(f"Explained by the columns before, coefficient 0: {', '.join(self.aliased_)}")
        if self.separated_:
            notes.append(f"Growing without bound, errors meaningless: {', '.join(self.separated_)}")
        if self.covariance_ is None:
            notes.append("No standard errors: no matrix of the columns was formed (inference=True forms one).")
        elif np.isnan(errors).all():
            notes.append(self._why_no_errors())
        elif self._is_penalized and self.covariance == "model":
            notes.append("Penalized: standard errors are those of the posterior under the penalty as a normal prior.")
        return CoefficientTable(
            self.coefficient_names_,
            estimates,
            errors,
            df=self._df(),
            level=check_level(level),
            title="Generalized linear model",
            facts=facts,
            notes=notes,
        )

    def _why_no_errors(self) -> str:
        if self._is_penalized:
            return "No standard errors: the penalty chose the columns by looking at the data."
        return "No standard errors: as many coefficients as observations leave nothing to estimate the dispersion from."

    def _df(self) -> float:
        """Degrees of freedom of tests and intervals: the residual ones where a dispersion was estimated."""
        return self.df_residual_ if self.dispersion_is_estimated_ else math.inf

    def _has_intercept(self) -> bool:
        return len(self.coefficient_names_) > self.coef_.size

    def _of_columns(self, X: Any, **given: Any) -> list[Any]:
        """What was given, columns of ``X`` in the place of their names where the model has a formula."""
        if getattr(self, "_formula", None) is None:
            return list(given.values())
        return [column_of(X, name, value) for name, value in given.items()]

    def _read_rows(self, X: Any) -> Table:
        check_is_fitted(self)
        if self._formula is not None and (hasattr(X, "columns") or isinstance(X, Mapping)):
            table: Table = self._formula.table(X)
        else:
            table = read_table(self, X, reset=False, fewest_columns=0)
        check_finite(table, column_names(self))
        return table

    def _read_targets(self, y: Any, n_rows: int, sample_weight: Any) -> tuple[FloatArray, FloatArray | None]:
        target, trials = read_target(self.family_, y, n_rows)
        wrong = ~self.family_.contains_target(target)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"y of row {row} is {float(target[row])!r}, which the {self.family_.name} family cannot produce; "
                f"expected {self.family_.target_domain}."
            )
        weight = read_weights(sample_weight, n_rows)
        if trials is not None:
            weight = trials if weight is None else trials * weight
        return target, weight

    def _predictor(self, table: Table, offset: Any, exposure: Any) -> FloatArray:
        shift = read_offset(self.link_, offset, exposure, table.shape[0])
        has_intercept = self._has_intercept()
        coef = np.concatenate([[self.intercept_], self.coef_]) if has_intercept else self.coef_
        design = Design(table, has_intercept)
        predictor, scratch = np.empty(table.shape[0]), design.scratch()
        for rows in design.slices():
            predictor[rows] = design.load(rows, scratch).predictor(coef)
        return predictor if shift is None else predictor + shift
