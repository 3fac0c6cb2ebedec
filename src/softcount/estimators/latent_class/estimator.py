"""Latent class analysis in the field's words: class sizes, item-response probabilities, posterior classification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.core.chunks import Chunks, Rows
from softcount.core.components import boundary_probabilities
from softcount.core.goodness import (
    category_table,
    goodness_of_fit,
)
from softcount.core.learn import Learned
from softcount.core.mixture import MixtureModel
from softcount.estimators._parameters import check_number
from softcount.estimators._tables import is_sparse
from softcount.estimators.latent_class.covariates import CovariateRows, with_membership
from softcount.estimators.latent_class.tables import ClassTables
from softcount.estimators.mixture._base import BaseMixture
from softcount.estimators.mixture._parameters import documented_mixture
from softcount.families.blocks import Block
from softcount.families.categorical import Categorical
from softcount.families.moment_prior import MomentPrior
from softcount.inputs.columns import Column, few_values

if TYPE_CHECKING:
    pass

__all__ = ["LatentClass"]

#: Numbers with more different values than this are not taken for categories without being asked to.
MOST_VALUES = 30
#: Texts with more different values than this share of the rows tell rows apart, not classes.
MOST_DISTINCT = 0.5


@documented_mixture
class LatentClass(ClassTables, CovariateRows, BaseMixture):
    r"""Latent class analysis: rows of answers to items, explained by classes within which the items are independent.

    .. math:: P(x_i) = \sum_k \pi_k \prod_j \theta_{j x_{ij} k}

    with the class sizes :math:`\pi_k` and the item-response probabilities :math:`\theta_{jvk}`, by maximum likelihood
    from many starts. X is a pandas, polars or Arrow table, an array or a list of rows; every column is an item whose
    values are categories, whatever they are (texts, 1 and 2, true and false), unless ``families`` says otherwise or it
    holds numbers with more than 30 different values, which are taken as Gaussian. An answer that is missing is left out
    of the likelihood, so a row counts with the answers it has.

    Parameters
    ----------
    n_components : int, default=2
        Number of classes; there are more where ``y`` names more.
    families : str, family, sequence or dict, optional
        Items that are not categorical, for example ``{"age": "gaussian", "visits": "poisson"}``.
    alpha : float, default=0.0
        Pseudo-count of every answer in every class; 0 is maximum likelihood, a small number keeps probabilities off
        the boundary.
    var_smoothing : float, default=1e-6
        Smallest variance of a Gaussian item in any class, as a share of the item's own variance.
    shared_variance : bool, default=False
        One variance per Gaussian item for all classes.
    covariates : str, int or list of these, optional
        Columns (names or positions) that are no items but say which class a row is in, by a multinomial logit (latent
        class regression). Numbers enter as they are, texts with an indicator for each value but the first; they may not
        be missing.
    handle_unknown : {"ignore", "error", "smooth"}, default="ignore"
        What an answer that was not seen in training means when predicting: it is left out like a missing one, an
        error, or a probability from ``alpha``.
    feature_prior : dict, optional
        From the name of a family to an explicit prior from :mod:`softcount.priors`.
    estimate : {"mode", "mean"}, default="mode"
        Whether ``feature_prior`` gives the mode (MAP) or the mean of the posterior.
    {shared}

    Attributes
    ----------
    class_sizes_ : array of shape (n_components,)
        The same as ``weights_``.
    item_probabilities_ : dict of str to array of shape (n_components, n_values)
        The item-response probabilities of every categorical item.
    item_values_ : dict of str to list
        The values they are of.
    class_coefficients_ : array of shape (n_components, n_coefficients)
        With covariates: the log-odds of each class against the first, of the intercept and every covariate.
    coefficient_names_ : list of str
        What these belong to.
    goodness_ : Goodness or None
        G², X², degrees of freedom, and p-values where they are valid; None with covariates, or items that
        are not categorical.
    families_ : dict of str to str
        The family of each item.
    n_boundary_ : int
        Probabilities that came out as 0 or 1.
    {attributes}

    Examples
    --------
    >>> answers = [["yes", "no"], ["yes", "no"], ["no", "yes"], ["no", "yes"], ["yes", None], ["no", "yes"]]
    >>> model = LatentClass(2, random_state=0).fit(answers)
    >>> model.predict([["yes", None]]).tolist() == model.predict([["yes", "no"]]).tolist()
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        families: Any = None,
        alpha: float = 0.0,
        var_smoothing: float = 1e-6,
        shared_variance: bool = False,
        covariates: Any = None,
        handle_unknown: str = "ignore",
        class_prior: Any = None,
        class_alpha: float = 0.0,
        feature_prior: Any = None,
        estimate: str = "mode",
        init: Any = None,
        n_init: int = 20,
        n_final: int | None = None,
        max_iter: int = 5000,
        tol: float = 1e-11,
        accelerate: bool = True,
        annealing: Any = None,
        merge_rows: bool | None = None,
        order: Any = "size",
        missing_label: Any = np.nan,
        soft_labels: str = "responsibility",
        unlabeled_weight: float = 1.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.families = families
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.shared_variance = shared_variance
        self.covariates = covariates
        self.handle_unknown = handle_unknown
        self.class_prior = class_prior
        self.class_alpha = class_alpha
        self.feature_prior = feature_prior
        self.estimate = estimate
        self.init = init
        self.n_init = n_init
        self.n_final = n_final
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.annealing = annealing
        self.merge_rows = merge_rows
        self.order = order
        self.missing_label = missing_label
        self.soft_labels = soft_labels
        self.unlabeled_weight = unlabeled_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    #: Columns taken as Gaussian without being asked to.
    _measured: list[str]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_unknown()
        check_number("alpha", self.alpha, 0.0)
        check_number("var_smoothing", self.var_smoothing, 0.0)
        if self.covariates is not None and (self.class_prior is not None or self.class_alpha > 0.0):
            raise InputError(
                "With covariates the sizes of the classes follow from their coefficients; leave class_prior and "
                "class_alpha out."
            )

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        if is_sparse(X):
            raise InputError(
                "X is sparse, but LatentClass reads tables of answers. Use X.toarray(), or BernoulliMixture for sparse "
                "yes/no data."
            )
        return super()._read_blocks(X, reset=reset)

    def _make_model(self, blocks: tuple[Block, ...], classes: NDArray[Any]) -> MixtureModel:
        if self._covariates is None:
            return super()._make_model(blocks, classes)
        return with_membership(super()._make_model(blocks[:-1], classes), blocks[-1])

    def _asked_families(self, columns: list[Column]) -> Any:
        """Every item is categorical unless the user says otherwise or it plainly holds measurements."""
        asked, self._measured = self.families, []
        if asked is not None and not isinstance(asked, Mapping):
            return asked
        chosen = dict(asked or {})
        for column in columns:
            if column.name in chosen:
                continue
            is_number = column.kind in ("number", "integer") and not column.missing.all()
            if is_number and few_values(column, MOST_VALUES) is None:
                chosen[column.name] = "gaussian"
                self._measured.append(column.name)
            else:
                chosen[column.name] = "categorical"
        return chosen

    def _priors(self, n_components: int) -> tuple[Any, ...]:
        gaussian = MomentPrior.column_by_column(float(self.var_smoothing))
        return self._table_priors(gaussian, n_components)

    def _settled(self, learned: Learned, labels: Any, names: Any) -> Learned:
        learned = super()._settled(learned, labels, names)
        notes = list(learned.notes)
        if self._measured:
            named = ", ".join(map(repr, self._measured[:10]))
            notes.append(
                f"{named} hold numbers with more than {MOST_VALUES} different values and are taken as Gaussian. Use "
                "families= to say what they are"
            )
        alone = len(learned.objectives) > 1 and learned.n_best < 2
        if alone and learned.model.n_components > 1 and not learned.interrupted:
            notes.append(
                f"the best log-likelihood was reached by 1 of the {len(learned.objectives)} starts that were run to "
                "the end, so there may be a better one. Raise n_init"
            )
        return replace(learned, notes=tuple(notes))

    def _look_at(self, learned: Learned, chunks: Rows, names: list[Any]) -> None:
        """What is worth keeping of the training rows, while they are at hand."""
        super()._look_at(learned, chunks, names)
        model, params = learned.model, learned.fit.params
        self.goodness_ = None
        # Rows that are not in memory have a table of counts only where the different ones are few.
        if isinstance(chunks, Chunks) and all(isinstance(family, Categorical) for family in model.families):
            self.goodness_ = goodness_of_fit(category_table(model, params, chunks), model.n_parameters(params))
        self.n_boundary_ = boundary_probabilities(model, params)

    def _data_notes(self) -> list[str]:
        notes, goodness = [], self.goodness_
        if goodness is not None and goodness.df < 0:
            notes.append(
                f"the model has {goodness.n_parameters} parameters, but the table has only {goodness.n_cells - 1} free "
                "cells, so it is not identified: other parameters fit equally well. Use fewer classes, or more items"
            )
        for item, values in zip(self._block_feature_names(), self._block_categories(), strict=True):
            if values is not None and len(values) > max(MOST_VALUES, MOST_DISTINCT * self._n_rows):
                notes.append(
                    f"{item!r} has {len(values)} different values in {self._n_rows:g} rows, as names and numbers of "
                    "persons have; each is a parameter in every class. Leave it out, or group its values"
                )
        return notes

    def _publish(self, learned: Learned) -> None:
        self.families_ = self._family_names()
        self.class_sizes_ = np.exp(learned.fit.params.log_weights)
        if self._covariates is not None:
            self.class_coefficients_ = np.ascontiguousarray(learned.fit.params.blocks[-1]["coef"].T)
            self.coefficient_names_ = self._covariates.design_names
        self.item_probabilities_, self.item_values_ = {}, {}
        names, categories, start = self._block_feature_names(), self._block_categories(), 0
        for family, params in zip(learned.model.families, learned.fit.params.blocks, strict=True):
            if not isinstance(family, Categorical):
                start += next(iter(params.values())).shape[0]
                continue
            table = np.exp(params["log_prob"])
            for offset, size in zip(family.offsets[:-1], family.n_values, strict=True):
                self.item_probabilities_[names[start]] = np.ascontiguousarray(table[offset : offset + size].T)
                self.item_values_[names[start]] = list(categories[start] or range(size))
                start += 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
