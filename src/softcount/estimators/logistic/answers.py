"""What a fitted logistic regression answers: probabilities, labels, intervals, a summary."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.evidence import LinearForm
from softcount.core.iterate import Step
from softcount.core.logistic.rows import binary_probability, softmax
from softcount.estimators._linear_table import check_finite, column_names, read_table
from softcount.estimators.coefficient_table import CoefficientTable, check_level
from softcount.estimators.logistic.inputs import Strength, read_offsets

__all__ = ["LogisticAnswers"]


class LogisticAnswers:
    """Everything that needs the fitted attributes alone."""

    classes_: NDArray[Any]
    coef_: Any
    intercept_: FloatArray
    standard_errors_: FloatArray
    intercept_standard_errors_: FloatArray
    covariance_: FloatArray | None
    coefficient_names_: list[str]
    aliased_: list[str]
    separated_: list[str]
    separation_: str | None
    solver_: str
    log_likelihood_: float
    aic_: float
    bic_: float
    n_parameters_: float
    n_observations_: float
    n_iter_: NDArray[np.int32]
    converged_: bool
    history_: list[Step]
    _has_intercept: bool
    _penalty_strength: float
    _penalty_l1_ratio: float

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """The linear predictor: log odds of the second of two classes, or a score per class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            As in ``fit``. A model fitted with an offset predicts without one for offset 0.

        Returns
        -------
        scores : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        scores = self._scores(X, offset)
        return scores[:, 0] if self.classes_.size == 2 else scores

    def sparsify(self) -> Self:
        """Keep ``coef_`` as a sparse array, which a model with few coefficients beside zero is smaller with.

        scikit-learn's mixin does the same, and with it come all of its linear models: a third of the time that
        importing this estimator would take.

        Returns
        -------
        self
        """
        check_is_fitted(cast("Any", self))
        self.coef_ = csr_array(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep ``coef_`` as an ordinary array again.

        Returns
        -------
        self
        """
        check_is_fitted(cast("Any", self))
        if hasattr(self.coef_, "toarray"):
            self.coef_ = self.coef_.toarray()
        return self

    def predict(self, X: Any, *, offset: Any = None) -> NDArray[Any]:
        """The most probable class of every row."""
        scores = self._scores(X, offset)
        if self.classes_.size == 2:
            return np.asarray(self.classes_[(scores[:, 0] > 0.0).astype(np.intp)])
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Probabilities of the classes, shape (n_samples, n_classes); small ones keep all their digits."""
        scores = self._scores(X, offset)
        if self.classes_.size == 2:
            second, first = binary_probability(scores[:, 0])
            return np.column_stack([first, second])
        return np.ascontiguousarray(softmax(scores.T).T)

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Log-probabilities of the classes, finite where the probability itself underflows."""
        scores = self._scores(X, offset)
        if self.classes_.size == 2:
            eta = scores[:, 0]
            return np.column_stack([-np.logaddexp(0.0, eta), -np.logaddexp(0.0, -eta)])
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))

    def to_linear(self) -> LinearForm:
        """The weights of the boundary, in the form that generative models give theirs.

        Returns
        -------
        form : LinearForm
            ``coef_`` and ``intercept_`` (log odds of the second of two classes, else a row of scores per class), and
            the names of the columns.
        """
        check_is_fitted(cast("Any", self))
        stored: Any = self.coef_
        coef: FloatArray = stored.toarray() if hasattr(stored, "toarray") else stored.copy()
        return LinearForm(coef, self.intercept_.copy(), tuple(column_names(self)))

    def conf_int(self, level: float = 0.95) -> FloatArray:
        """Confidence intervals of the coefficients in the order of ``coefficient_names_``, shape ``(n, 2)``."""
        estimates, errors = self._listed()
        table = CoefficientTable(self.coefficient_names_, estimates, errors, level=check_level(level))
        return table.intervals

    def summary(self, level: float = 0.95, *, baseline: Any = None) -> CoefficientTable:
        """The table of coefficients: ``str()`` of it is text, ``.frame()`` a data frame.

        Estimate, standard error, z, p-value, interval, and odds ratio with its interval. With more than two classes
        every class is compared with a baseline, as in a multinomial logit: an odds ratio says how the odds of the
        class against the baseline change with the column.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the intervals.
        baseline : label, optional
            The class the others are compared with; the first by default. With two classes, too.
        """
        names, estimates, errors = self._compared(baseline)
        table = CoefficientTable(names, estimates, errors, level=check_level(level))
        with np.errstate(over="ignore"):
            low, high = np.exp(table.intervals).T
            extra = {"odds ratio": np.exp(estimates), "lower OR": low, "upper OR": high}
        facts: dict[str, object] = {
            "classes": ", ".join(map(str, self.classes_.tolist())),
            "baseline": self._baseline_label(baseline),
            "observations": float(self.n_observations_),
            "parameters": float(self.n_parameters_),
            "log-likelihood": float(self.log_likelihood_),
            "AIC": float(self.aic_),
            "BIC": float(self.bic_),
            "penalty": self._penalty().in_words(),
            "solver": self.solver_,
            "iterations": f"{int(self.n_iter_[0])}{'' if self.converged_ else ' (not converged)'}",
        }
        return CoefficientTable(
            names,
            estimates,
            errors,
            level=check_level(level),
            title="Logistic regression",
            facts=facts,
            notes=self._notes(errors),
            extra=extra,
        )

    def _penalty(self) -> Strength:
        return Strength(self._penalty_strength, self._penalty_l1_ratio)

    def _notes(self, errors: FloatArray) -> list[str]:
        notes = []
        if self.aliased_:
            notes.append(f"Explained by the columns before, coefficient 0: {', '.join(self.aliased_)}")
        if self.separation_ is not None:
            notes.append(f"Separated classes, errors mean little: {self.separation_}")
        if self._penalty().chooses:
            notes.append("No standard errors: the penalty chose the columns by looking at the data.")
        elif np.isnan(errors).all():
            notes.append("No standard errors: they cost more than the fit, or were not wanted (inference=True).")
        elif self._penalty_strength > 0.0:
            notes.append("Penalized: standard errors are those of the posterior under the penalty as a normal prior.")
        return notes

    def _scores(self, X: Any, offset: Any) -> FloatArray:
        check_is_fitted(cast("Any", self))
        table = read_table(self, X, reset=False)
        check_finite(table, column_names(self))
        stored: Any = self.coef_
        coef: FloatArray = stored.toarray() if hasattr(stored, "toarray") else stored
        product: Any = cast("Any", table) @ coef.T
        scores = np.asarray(product, dtype=np.float64) + self.intercept_
        shift = read_offsets(offset, scores.shape[0], self.classes_.size)
        if shift is None:
            return scores
        return np.asarray(scores + (shift[:, None] if shift.ndim == 1 else shift))

    def _stacked(self) -> tuple[FloatArray, FloatArray]:
        """Coefficients and standard errors with the intercept in front, one row per row of ``coef_``."""
        check_is_fitted(cast("Any", self))
        stored: Any = self.coef_
        coef: FloatArray = stored.toarray() if hasattr(stored, "toarray") else stored
        if not self._has_intercept:
            return coef, self.standard_errors_
        return (
            np.column_stack([self.intercept_, coef]),
            np.column_stack([self.intercept_standard_errors_, self.standard_errors_]),
        )

    def _listed(self) -> tuple[FloatArray, FloatArray]:
        coef, errors = self._stacked()
        return coef.ravel(), errors.ravel()

    def _terms(self) -> list[str]:
        names = column_names(self)
        return ["(intercept)", *names] if self._has_intercept else names

    def _baseline_label(self, baseline: Any) -> Any:
        if baseline is None:
            return self.classes_[0]
        known = self.classes_.tolist()
        if baseline not in known:
            raise InputError(f"baseline is {baseline!r}, which is none of the classes {known}.")
        return self.classes_[known.index(baseline)]

    def _compared(self, baseline: Any) -> tuple[list[str], FloatArray, FloatArray]:
        """Names, estimates and standard errors of the classes' differences from the baseline."""
        coef, errors = self._stacked()
        terms = self._terms()
        base = self.classes_.tolist().index(self._baseline_label(baseline))
        if self.classes_.size == 2:
            sign = 1.0 if base == 0 else -1.0
            return terms, sign * coef[0], errors[0]
        others = [k for k in range(self.classes_.size) if k != base]
        names = [f"{self.classes_[k]}: {term}" for k in others for term in terms]
        estimates = (coef[others] - coef[base]).ravel()
        if self.covariance_ is None:
            return names, estimates, np.full(estimates.shape, np.nan)
        size = len(terms)
        whole = self.covariance_.reshape(self.classes_.size, size, self.classes_.size, size)
        variance = np.einsum("kjkj->kj", whole)
        shared = np.einsum("kjj->kj", whole[:, :, base])
        spread = variance[others] - 2.0 * shared[others] + variance[base]
        standard = np.sqrt(np.maximum(spread, 0.0))
        standard[np.isnan(errors[others])] = np.nan
        return names, estimates, standard.ravel()
