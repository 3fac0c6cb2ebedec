"""Tables of a fitted latent class analysis: its fit cell by cell, item-response probabilities, posteriors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._optional import need
from softcount._types import FloatArray
from softcount.core.chunks import Chunks
from softcount.core.goodness import (
    MOST_CELLS,
    CategoryTable,
    Goodness,
    bivariate_residuals,
    category_table,
    goodness_of_fit,
)
from softcount.core.iterate import Stopping
from softcount.core.learn import Plan, learn
from softcount.core.simulate import simulated
from softcount.estimators._fitting import seed_of
from softcount.estimators._parameters import check_number
from softcount.estimators.latent_class.covariates import Covariates
from softcount.estimators.latent_class.text import latent_class_text
from softcount.estimators.mixture._answers import MixtureAnswers
from softcount.families.categorical import Categorical
from softcount.inputs.weights import read_weights

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ClassTables"]


class ClassTables(MixtureAnswers):
    """What a fitted latent class analysis can be asked for in the field's words."""

    goodness_: Goodness | None
    item_probabilities_: dict[str, FloatArray]
    item_values_: dict[str, list[Any]]
    _covariates: Covariates | None

    def _table(self, X: Any, sample_weight: Any) -> tuple[CategoryTable, Chunks]:
        check_is_fitted(self, "params_")
        rows = self._rows(X)
        chunks = rows.with_weight(read_weights(sample_weight, rows.n_rows))
        table = category_table(self.model_, self.params_, chunks)
        if not table.tables:
            raise InputError("There is no categorical item, so there is no table of counts.")
        return table, chunks

    def goodness_of_fit(
        self, X: Any, *, sample_weight: Any = None, n_bootstrap: int = 0, random_state: Any = None
    ) -> Goodness:
        """G², X², degrees of freedom and p-values; a p-value that would not be valid is refused, with the reasons.

        Parameters
        ----------
        X : table
            The rows the model was fitted to.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        n_bootstrap : int, default=0
            Tables to draw from the model and refit; the share with a G² at least as large is a p-value for any table.
        random_state : int, Generator, RandomState or None
            Seed of the bootstrap; by default the estimator's own.
        """
        table, chunks = self._table(X, sample_weight)
        if not all(isinstance(family, Categorical) for family in self.model_.families):
            why = "Some items are not categorical" if self._covariates is None else "The model has covariates"
            raise InputError(f"{why}, so there is no table of counts to compare it with.")
        found = goodness_of_fit(table, self.n_parameters_)
        check_number("n_bootstrap", n_bootstrap, 0, whole=True)
        if n_bootstrap < 1:
            return found
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        plan = Plan(
            init=self.params_, stopping=Stopping(self.max_iter, 1e-9), accelerate=bool(self.accelerate), merge_rows=None
        )
        larger = 0
        for stream in rng.spawn(n_bootstrap):
            drawn = simulated(self.model_, self.params_, chunks, stream)
            refit = learn(self.model_, self._executor(), drawn, plan)
            if refit.interrupted:
                # A fit that was cut short is no sample of the statistic.
                raise KeyboardInterrupt
            again = goodness_of_fit(category_table(refit.model, refit.fit.params, drawn), self.n_parameters_)
            larger += again.g2 >= found.g2
        return replace(found, p_bootstrap=(larger + 1.0) / (n_bootstrap + 1.0), n_bootstrap=n_bootstrap)

    def bivariate_residuals(self, X: Any, *, sample_weight: Any = None) -> pd.DataFrame:
        """What the classes leave unexplained between each two items, the largest first (needs pandas).

        The residual is Pearson's statistic of the two-way table per degree of freedom; above about 4, the two items
        depend on one another within the classes.
        """
        need("pandas", "A data frame")
        import pandas as pd

        found = bivariate_residuals(self._table(X, sample_weight)[0])
        names = self._block_feature_names()
        rows = [(names[r.first], names[r.second], r.chi_squared, r.df, r.per_df, r.n_rows) for r in found]
        return pd.DataFrame(rows, columns=["item", "other item", "chi_squared", "df", "residual", "n_rows"])

    def predicted_counts(self, X: Any, *, sample_weight: Any = None, all_cells: bool = False) -> pd.DataFrame:
        """Observed and predicted counts of the patterns of answers, the most frequent first (needs pandas).

        Parameters
        ----------
        X : table
            Rows; those with missing answers are left out.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        all_cells : bool, default=False
            Also the patterns that no row has.
        """
        need("pandas", "A data frame")
        import pandas as pd

        table, _ = self._table(X, sample_weight)
        patterns, observed = table.patterns()
        if all_cells and table.n_cells > MOST_CELLS:
            raise InputError(
                f"There are {table.n_cells:.4g} patterns of answers; all_cells=True lists at most {MOST_CELLS}. Leave "
                "it out for the patterns that occur, or use fewer items."
            )
        if all_cells:
            cells = table.all_cells()
            place = np.ravel_multi_index(tuple(patterns.T), [t.shape[0] for t in table.tables])
            wide = np.zeros(cells.shape[0])
            wide[place] = observed
            patterns, observed = cells, wide
        expected = observed.sum() * table.probabilities(patterns)
        names = self._block_feature_names()
        columns: dict[str, Any] = {}
        for j, position in enumerate(table.columns):
            values = np.array(self.item_values_[names[position]], dtype=object)
            columns[names[position]] = values[patterns[:, j]]
        with np.errstate(divide="ignore", invalid="ignore"):
            residual = np.where(observed == expected, 0.0, (observed - expected) / np.sqrt(expected))
        columns.update(observed=observed, expected=expected, residual=residual)
        frame = pd.DataFrame(columns)
        return frame.sort_values("observed", ascending=False, kind="stable").reset_index(drop=True)

    # ---- tables
    def item_probabilities(self) -> pd.DataFrame:
        """The item-response probabilities, a row per item and value and a column per class (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        check_is_fitted(self, "params_")
        index = [(item, value) for item, values in self.item_values_.items() for value in values]
        table = np.concatenate([prob.T for prob in self.item_probabilities_.values()])
        rows = pd.MultiIndex.from_tuples(index, names=["item", "value"])
        return pd.DataFrame(table, index=rows, columns=pd.Index(self._class_labels(), name="class"))

    def posterior(self, X: Any) -> pd.DataFrame:
        """Posterior class probabilities and the modal class of each row (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        proba = self.predict_proba(X)
        labels = self._class_labels()
        frame = pd.DataFrame(proba, columns=[f"P(class {label})" for label in labels])
        frame["class"] = [labels[k] for k in self.predict(X)]
        return frame

    def summary(self) -> str:
        """The analysis as text: item-response probabilities, class sizes, fit, classification, and notes."""
        check_is_fitted(self, "params_")
        rows = [row for row in self._parameter_rows() if row.quantity != "probability"]
        return latent_class_text(self, rows)
