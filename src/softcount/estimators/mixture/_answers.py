"""What a fitted mixture answers: components of rows, draws, criteria, standard errors, tables and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._optional import need
from softcount._types import FloatArray
from softcount.core.chunks import Chunks
from softcount.core.classification import Classification, classify, information_criteria
from softcount.core.information import uncertainty
from softcount.estimators._fitting import seed_of
from softcount.estimators._generative import GenerativeEstimator
from softcount.estimators.mixture.description import (
    ParameterRow,
    error_rows,
    head_lines,
    parameter_table,
    summary_text,
)
from softcount.estimators.mixture.standard_errors import StandardErrors, check_covariance
from softcount.inputs.weights import read_weights

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MixtureAnswers"]


class MixtureAnswers(DensityMixin, GenerativeEstimator):
    """The questions a fitted mixture of any families answers."""

    component_names_: NDArray[Any]
    classification_: Classification
    log_likelihood_: float
    weights_: FloatArray

    def predict(self, X: Any) -> NDArray[Any]:
        """Position of the most probable component of each row."""
        check_is_fitted(self, "params_")
        scores = self._class_scores(X)
        scores[np.isneginf(scores.max(axis=1, initial=-np.inf))] = self._log_class_prior()
        return np.asarray(np.argmax(scores, axis=1))

    def predict_proba(self, X: Any) -> FloatArray:
        """Posterior probability of every component, shape (n_samples, n_components).

        A row that is impossible under every component gets the components' weights.
        """
        check_is_fitted(self, "params_")
        return self._posterior(X)

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Mean marginal log-likelihood of the rows; ``y`` is ignored."""
        log_likelihood, total = self._log_likelihood(X, sample_weight)
        return log_likelihood / total

    def sample(
        self, n_samples: int = 1, component: Any = None, *, random_state: Any = None
    ) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their components.

        Parameters
        ----------
        n_samples : int
            Rows to draw.
        component : name or array-like of n_samples names, optional
            Draw rows of these components only.
        random_state : int, Generator, RandomState or None
            Seed; by default the estimator's own.
        """
        check_is_fitted(self, "params_")
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        components = self._sample_components(n_samples, component, rng)
        return self._draw(n_samples, components, rng), np.asarray(components, dtype=np.int64)

    def classification(self, X: Any, *, sample_weight: Any = None) -> Classification:
        """How well the components are told apart in these rows: tables, entropy, expected error."""
        return self._classified(X, sample_weight)[0]

    def _classified(self, X: Any, sample_weight: Any) -> tuple[Classification, float]:
        rows = self._rows(X)
        weight = read_weights(sample_weight, rows.n_rows)
        return classify(self.model_, self.params_, self._executor(), rows.with_weight(weight), self._class_labels())

    def criteria(self, X: Any = None, *, sample_weight: Any = None) -> dict[str, float]:
        """All information criteria: AIC, BIC, sample-size-adjusted BIC, CAIC and ICL (lower is better).

        Parameters
        ----------
        X : array-like, optional
            Rows; by default those the mixture was fitted to.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        """
        check_is_fitted(self, "params_")
        kept = (self.classification_, self.log_likelihood_)
        found, log_likelihood = kept if X is None else self._classified(X, sample_weight)
        return information_criteria(log_likelihood, self.n_parameters_, found.n_rows, found.entropy)

    def standard_errors(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, covariance: str = "observed"
    ) -> StandardErrors:
        r"""Standard errors of weights and parameters, from the curvature of the log-likelihood at its maximum.

        .. math:: \mathrm{Cov}(\hat\theta) \approx \Bigl(-\frac{\partial^2 \ell}{\partial\theta^2}\Bigr)^{-1}

        and the delta method. An estimate on the boundary (a probability of 0 or 1) has none and is marked; one that the
        rows do not determine has an infinite one.

        Parameters
        ----------
        X : array-like
            The rows of the fit.
        y : array-like, optional
            The labels of the fit.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a weight of k counts like k copies of the row (but see ``"survey"``).
        covariance : {"observed", "scores", "sandwich", "survey"}, default="observed"
            Inverse of the observed information; of the sum of products of the rows' scores (as poLCA does); both as a
            sandwich, which holds where the items are not independent within the classes; or the sandwich with weights
            that stand for rows nobody asked, as those of surveys do.
        """
        check_covariance(covariance)
        check_is_fitted(self, "params_")
        rows = self._rows(X)
        labels = None if y is None else self._labels_for(y, rows.n_rows)
        weight = read_weights(sample_weight, rows.n_rows)
        chunks = Chunks(rows.blocks, labels, weight, rows_per_chunk=rows.rows_per_chunk)
        found = uncertainty(self.model_, self.params_, self._executor(), chunks, covariance)
        errors = error_rows(self.model_, found.blocks, self._block_feature_names(), self._block_categories())
        pairs = tuple(zip(self._parameter_rows(), errors, strict=True))
        return StandardErrors(
            self._class_labels(), self.weights_, found.weights, pairs, covariance, is_maximum=found.is_maximum
        )

    def name_components(self, names: Sequence[Any]) -> Self:
        """Give the components names of your own, which tables, summaries and pictures then show.

        ``predict`` still answers with positions, as scikit-learn's mixtures do: ``model.component_names_[k]`` is the
        name of the component at position k.

        Parameters
        ----------
        names : sequence
            A name for each component, in their order.
        """
        check_is_fitted(self, "params_")
        given = list(names) if not isinstance(names, str) else [names]
        if len(given) != self.weights_.shape[0] or len(set(map(str, given))) != len(given):
            raise InputError(
                f"names is {given}; give {self.weights_.shape[0]} different names, one for each component: now they "
                f"are {self._class_labels()}."
            )
        kept = np.empty(len(given), dtype=object)
        kept[:] = given
        self.component_names_ = kept
        self.classification_ = replace(self.classification_, names=given)
        return self

    def frame(self) -> pd.DataFrame:
        """The components' parameters, one row per component, column and quantity (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        check_is_fitted(self, "params_")
        names = self._class_labels()
        rows = [
            (names[k], row.column, row.category, row.quantity, float(value))
            for row in self._parameter_rows()
            for k, value in enumerate(row.values)
        ]
        return pd.DataFrame(rows, columns=["component", "column", "category", "quantity", "value"])

    def summary(self) -> str:
        """The fit as text: search, criteria, sizes of the components and their parameters."""
        check_is_fitted(self, "params_")
        return summary_text(self, self._parameter_rows(), head_lines(self, len(self._feature_names())))

    def _parameter_rows(self) -> list[ParameterRow]:
        check_is_fitted(self, "params_")
        return parameter_table(self.model_, self.params_, self._block_feature_names(), self._block_categories())

    def _class_labels(self) -> list[Any]:
        return list(self.component_names_.tolist())
