"""Gaussian discriminant analysis: classes as Gaussians with tied, full, diagonal or spherical covariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunk, Chunks
from softcount.core.counts import Counts
from softcount.core.covariance_prior import CovariancePlan, LabeledMoments
from softcount.core.evidence import class_scores
from softcount.core.fisher import FisherDirections, completed
from softcount.core.labeled_moments import look_at_labeled_rows, singular_notes
from softcount.core.learn import Learned, has_closed_form, warn_about
from softcount.core.mixture import CLASSES, MixtureModel, MixtureParams
from softcount.core.patterns import select_rows
from softcount.core.progress import note_printer
from softcount.core.start import labeled_resp, start_counts
from softcount.estimators._choosing import AUTO, Outcome, fit_with_choice
from softcount.estimators._generative import ChunkScorer
from softcount.estimators._grid import rows_for
from softcount.estimators._parameters import check_number, documented, read_class_prior
from softcount.estimators._tables import check_magnitude, dense_block, read_numbers
from softcount.estimators.naive_bayes._base import BaseNaiveBayes
from softcount.families.blocks import Block, DenseBlock
from softcount.families.columns import ColumnFamily
from softcount.families.gaussian import Gaussian, MomentPrior
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.gaussian_shared import SharedGaussianScorer
from softcount.inputs.labels import Labels

__all__ = ["GaussianDiscriminant"]


def _counts_suffice(estimator: GaussianDiscriminant) -> bool:
    """Whether batches of rows can be added up; raises where they cannot."""
    if estimator.shrinkage == "auto":
        raise InputError(
            "shrinkage='auto' needs all rows at once, for it depends on their fourth moments. Use a number with "
            "partial_fit, or call fit."
        )
    return True


F = TypeVar("F", bound=Callable[..., Any])
_where_counts_suffice: Callable[[F], F] = available_if(_counts_suffice)


@documented
class GaussianDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseNaiveBayes):
    r"""Gaussian discriminant analysis: linear, quadratic and in between, learned from the labels there are.

    .. math:: p(k \mid x) \propto \pi_k\, |\Sigma_k|^{-1/2}
       \exp\bigl(-\tfrac12 (x - \mu_k)^\top \Sigma_k^{-1} (x - \mu_k)\bigr)

    with one covariance for all classes (``"tied"``, the default: the boundary is linear), one for each (``"full"``:
    quadratic), or with independent columns. Missing labels are learned by EM, missing cells enter by their expected
    statistics. Every covariance is a closed form of weighted moments,

    .. math:: \Sigma = (1 - s) \frac{S}{w - b} + s T, \qquad \Sigma \succeq B,

    where S is the scatter about the class means of rows of weight w; b is 0 or, with ``unbiased``, one per mean; s and
    T are those of ``shrinkage``; and B keeps what the rows do not determine off the boundary (``min_variance``).

    Parameters
    ----------
    covariance : {"tied", "full", "diag", "spherical"}, default="tied"
        One covariance matrix for all classes, one for each class, one variance for each column and class, or one
        variance for each class.
    shared_variance : bool, default=False
        Whether all classes share the variances of ``"diag"`` or ``"spherical"``; the boundary is then linear.
    shrinkage : float between 0 and 1, "auto" or None, default=None
        Share of the target in the covariance: of the mean variance times the identity for a number; of the classes'
        variances for ``"auto"``, which takes the share from Ledoit and Wolf's estimate in each class.
    priors : array-like of shape (n_classes,), optional
        Given class probabilities; divided by their sum, with a warning, where that is not 1.
    unbiased : bool, default=False
        Divide by the weight minus one for each class mean, instead of the weight (maximum likelihood).
    min_variance : float, default=1e-6
        Smallest variance of any direction, where each column is in units of its standard deviation within classes. It
        binds only covariances that are as good as singular, and leaves all others exactly as they are; 0 refuses them.
    {shared}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, priors_ : array of shape (n_classes,)
        Expected weight and probability of each class.
    means_ : array of shape (n_components, n_features)
        Means; one component per class unless asked otherwise.
    covariance_ : array
        Of shape (n_features, n_features) for ``"tied"``, (n_components, n_features, n_features) for ``"full"``,
        (n_components, n_features) for ``"diag"`` and (n_components,) for ``"spherical"``; without the first axis where
        variances are shared.
    coef_, intercept_ : arrays of shape (n_scores, n_features) and (n_scores,)
        The linear boundary, where it is linear (see :meth:`to_linear`).
    shrinkage_ : float, array of shape (n_components,) or None
        The shrinkage used, by class for ``"auto"``.
    scalings_, xbar_, explained_variance_ratio_ : arrays
        Fisher's directions (n_features, n_directions), the overall mean, and the directions' shares of the variance
        between classes.
    {attributes}

    Examples
    --------
    >>> X = [[0.0, 0.1], [1.0, 0.8], [0.4, 0.9], [3.0, 3.1], [4.0, 3.7], [3.4, np.nan]]
    >>> model = GaussianDiscriminant(unlabeled_weight=1.0).fit(X, ["a", "a", None, "b", "b", None])
    >>> model.predict([[0.5, 0.5], [3.5, 3.5], [np.nan, 0.7]]).tolist()
    ['a', 'b', 'a']
    """

    def __init__(
        self,
        *,
        covariance: str = "tied",
        shared_variance: bool = False,
        shrinkage: Any = None,
        priors: Any = None,
        unbiased: bool = False,
        min_variance: float = 1e-6,
        class_alpha: float = 0.0,
        feature_prior: Any = None,
        estimate: str = "mode",
        missing_label: Any = np.nan,
        classes: Any = None,
        n_classes: int | None = None,
        soft_labels: str = "responsibility",
        unlabeled_weight: Any = "auto",
        calibrate: str = "auto",
        n_components_per_class: Any = 1,
        init: Any = None,
        n_init: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        accelerate: bool = False,
        annealing: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.covariance = covariance
        self.shared_variance = shared_variance
        self.shrinkage = shrinkage
        self.priors = priors
        self.unbiased = unbiased
        self.min_variance = min_variance
        self.class_alpha = class_alpha
        self.feature_prior = feature_prior
        self.estimate = estimate
        self.missing_label = missing_label
        self.classes = classes
        self.n_classes = n_classes
        self.soft_labels = soft_labels
        self.unlabeled_weight = unlabeled_weight
        self.calibrate = calibrate
        self.n_components_per_class = n_components_per_class
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.annealing = annealing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- parameters
    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("min_variance", self.min_variance, 0)
        self._covariance_plan().check()
        if self.shared_variance and self.covariance in ("tied", "full"):
            raise InputError(
                f"shared_variance=True belongs to covariance='diag' or 'spherical', but covariance is "
                f"{self.covariance!r}. One covariance matrix for all classes is covariance='tied'."
            )
        if self.feature_prior is not None and (self.unbiased or self.shrinkage is not None):
            raise InputError(
                "feature_prior is given together with unbiased=True or shrinkage, which are priors of the covariance "
                "as well. Give one of them."
            )

    def _covariance_plan(self) -> CovariancePlan:
        return CovariancePlan(
            self.covariance, self._is_shared, bool(self.unbiased), self.shrinkage, float(self.min_variance)
        )

    @property
    def _is_shared(self) -> bool:
        return self.covariance == "tied" or bool(self.shared_variance)

    def _families(self) -> tuple[ColumnFamily, ...]:
        if self.covariance in ("tied", "full"):
            return (MultivariateGaussian(shared=self._is_shared),)
        return (Gaussian(shared=self._is_shared, spherical=self.covariance == "spherical"),)

    def _priors(self, n_classes: int, groups: NDArray[Any]) -> tuple[Any, ...]:
        # What the covariances are drawn towards is known after a look at the labeled rows: see _with_prior.
        return (MomentPrior(smoothing=0.0, floor=0.0),)

    def _class_prior(self, n_classes: int) -> FloatArray | None:
        return None if self.priors is None else read_class_prior("priors", self.priors, n_classes)

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset, accept_sparse=False)
        if reset:
            check_magnitude(X, self._feature_names())
        return (dense_block(X),)

    # ---- fitting
    def _fit_with_choice(
        self, blocks: tuple[Block, ...], labels: Labels, weight: FloatArray | None, classes: NDArray[Any]
    ) -> Outcome:
        model = self._make_model(blocks, classes)
        chunks = rows_for(model, blocks, labels, weight)
        plan, executor = self._plan(), self._executor()
        labeled, by_class = look_at_labeled_rows(model, executor, chunks, with_shrinkage=self.shrinkage == "auto")
        prior = self._covariance_prior(labeled, by_class, iterates=not has_closed_form(model, chunks))
        model = replace(model, priors=(prior,))
        self.shrinkage_ = self.shrinkage if by_class is None else by_class.intensity
        is_auto = self.unlabeled_weight == AUTO
        tell = note_printer(type(self).__name__, self.verbose)
        outcome = fit_with_choice(model, executor, chunks, plan, is_auto=is_auto, calibrate=self.calibrate, tell=tell)
        learned = outcome.learned
        notes = singular_notes(learned.model, learned.fit.params, labeled, classes)
        outcome = replace(outcome, learned=replace(learned, notes=learned.notes + notes))
        warn_about(outcome.learned, type(self).__name__, plan.stopping)
        return outcome

    def _covariance_prior(self, labeled: LabeledMoments, by_class: Any, *, iterates: bool) -> MomentPrior:
        plan = self._covariance_plan()
        if self.feature_prior is not None:
            return plan.given(self.feature_prior, self.estimate, self._families()[0], labeled)
        return plan.prior(labeled, by_class, iterates=iterates)

    partial_fit = _where_counts_suffice(BaseNaiveBayes.partial_fit)

    def _add_batch(
        self, model: MixtureModel, chunks: Chunks, before: Counts | None
    ) -> tuple[Counts, MixtureParams, MixtureModel]:
        """Count labeled complete rows exactly, and the others by what the parameters so far expect of them."""
        labels, executor, size = chunks.labels, self._executor(), model.counts_bytes()
        assert labels is not None
        exact = ~labels.is_unlabeled() if labels.fixed else labels.codes >= 0
        block: Any = chunks.blocks[0]
        if not model.families[0].closed_form_with_missing and block.has_missing:
            exact &= ~block.missing.any(axis=1)
        weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight

        def rows(chosen: Any) -> Chunks:
            return select_rows(chunks, np.flatnonzero(chosen), weight[chosen])

        counts = executor.reduce(
            lambda lane: model.tally_given(lane, lambda chunk: labeled_resp(model, chunk, spread=False)),
            rows(exact),
            counts_bytes=size,
        )
        total = counts if before is None else before + counts
        if not exact.all():
            guess = start_counts(model, executor, rows(~exact), lambda c: labeled_resp(model, c, spread=False))
            known = total + guess
            _require_labels(known)
            model = self._refreshed(model, known)
            params = model.solve(known, None)
            soft = executor.reduce(lambda lane: model.tally(params, lane), rows(~exact), counts_bytes=size)
            total = total + replace(soft, objective=0.0)
        _require_labels(total)
        model = self._refreshed(model, total)
        self.shrinkage_ = self.shrinkage
        return total, model.solve(total, None), model

    def _anchored_by(self, model: MixtureModel, chunks: Chunks, before: Counts) -> MixtureModel:
        return self._refreshed(model, before)

    def _refreshed(self, model: MixtureModel, counts: Counts) -> MixtureModel:
        moments: Any = counts.parts["0"]
        labeled = LabeledMoments.from_moments(counts.parts[CLASSES].arrays()["weight"], moments)
        prior = self._covariance_prior(labeled, None, iterates=False)
        return replace(model, priors=(model.families[0].anchored(prior, moments.pooled()),))

    def _publish(self, learned: Learned) -> None:
        weight = learned.fit.counts.parts[CLASSES].arrays()["weight"]
        self.class_count_ = np.bincount(learned.model.groups, weight, minlength=learned.model.n_classes)
        self.priors_ = np.exp(self._log_class_prior())
        block = learned.fit.params.blocks[0]
        self.means_ = np.ascontiguousarray(block["mean"].T)
        spread = block["cov"] if "cov" in block else block["var"].T
        spread = spread[:, 0] if self.covariance == "spherical" else spread
        self.covariance_ = np.array(spread[0] if self._is_shared else spread)
        share = np.exp(learned.fit.params.log_weights)
        within = np.einsum("k,kde->de", share, block["cov"]) if "cov" in block else block["var"] @ share
        directions = FisherDirections.of(block["mean"], share, within)
        self.scalings_, self.xbar_ = directions.scalings, directions.center
        self.explained_variance_ratio_ = directions.ratio

    # ---- the boundary
    @property
    def coef_(self) -> FloatArray:
        """Weights of the linear boundary."""
        return self._boundary("coef")

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts of the linear boundary."""
        return self._boundary("intercept")

    def _boundary(self, part: str) -> FloatArray:
        check_is_fitted(self, "params_")
        try:
            form = self.to_linear()
        except InputError as error:
            raise AttributeError(str(error)) from None
        return form.coef if part == "coef" else form.intercept

    def _chunk_scorer(self) -> ChunkScorer:
        # Where classes share a covariance most of a density is the same for all: it is left out, for it costs most.
        shared = self.params_.scorers[0]
        if not isinstance(shared, SharedGaussianScorer):
            return super()._chunk_scorer()

        def score(chunk: Chunk, out: FloatArray) -> None:
            scores = np.zeros((chunk.n_rows, self.model_.n_components))
            shared.add_differences(cast(DenseBlock, chunk.blocks[0]), scores)
            scores += self.params_.log_weights
            out[:] = class_scores(self.model_, scores)

        return score

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        r""":math:`\log P(y) + \log p(x \mid y)` for every row and class, shape (n_samples, n_classes)."""
        return self._score_classes(self._rows(X))

    def decision_function(self, X: Any) -> FloatArray:
        r"""Log-odds of the second class for two classes, else what :math:`\log p(k \mid x)` is up to a number per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    # ---- Fisher's projection
    def transform(self, X: Any) -> FloatArray:
        """Project rows on the directions in which the class means are farthest apart.

        Within classes the projections are uncorrelated with variance one (on average over the classes where these have
        covariances of their own). A missing cell stands at its expectation
        given the rest of its row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        projected : array of shape (n_samples, min(n_components - 1, n_features))
        """
        check_is_fitted(self, "params_")
        block: Any = self._read_blocks(X, reset=False)[0]
        values = np.asarray(block.values, dtype=np.float64)
        if block.has_missing:
            resp = self.responsibilities(values, by_component=True)
            values = completed(values, resp, self.means_.T, self.params_.blocks[0].get("cov"))
        return np.asarray((values - self.xbar_) @ self.scalings_)

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])


def _require_labels(counts: Counts) -> None:
    if not counts.parts[CLASSES].arrays()["weight"].any():
        raise InputError(
            "partial_fit has not been given a labeled row of sample weight above zero yet. Give labeled rows first (or "
            "together with the others): only they say which class is which."
        )
