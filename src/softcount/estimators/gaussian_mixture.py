"""Gaussian mixtures, in scikit-learn's words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Rows
from softcount.core.iterate import Step, Stopping
from softcount.core.journal import number_for
from softcount.core.learn import Learned, Plan
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.progress import step_printer
from softcount.core.start import VARIED
from softcount.estimators._fitting import journal_and_state, seed_of
from softcount.estimators._gaussian_starts import (
    adjusted,
    given_parameters,
    rows_to_start_from,
    scikit_learn_starts,
)
from softcount.estimators._parameters import check_number
from softcount.estimators._tables import check_magnitude, dense_block, read_numbers
from softcount.estimators.mixture._base import FEWEST_FINAL, BaseMixture
from softcount.families.blocks import Block
from softcount.families.columns import ColumnFamily
from softcount.families.gaussian import Gaussian
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.moment_prior import MomentPrior
from softcount.families.normal_priors import table_counts

__all__ = ["GaussianMixture"]

FAMILIES: dict[str, ColumnFamily] = {
    "full": MultivariateGaussian(),
    "tied": MultivariateGaussian(shared=True),
    "diag": Gaussian(),
    "spherical": Gaussian(spherical=True),
}
#: scikit-learn's names of starts, and what the core calls them.
INIT_PARAMS = {
    "kmeans": "kmeans",
    "k-means++": "k-means++",
    "random": "responsibilities",
    "random_from_data": "random_from_data",
}
#: What a thorough search does at least.
THOROUGH_STARTS, THOROUGH_ITERATIONS, THOROUGH_TOLERANCE = 20, 2000, 1e-10


@dataclass(frozen=True)
class StoppingAsScikitLearn(Stopping):
    """Stop when the gain of the iteration before was below ``tol``: a step later than it was seen, as scikit-learn."""

    def reached(self, history: Any) -> bool:
        """Whether the last step of ``history`` ends the loop."""
        return len(history) > 2 and abs(history[-2].change) < self.tol * (self.scale or 1.0)


class GaussianMixture(BaseMixture):
    r"""Gaussian mixture with scikit-learn's parameters and attributes; rows may have weights, holes and labels.

    .. math:: p(x_i) = \sum_k \pi_k\, N(x_i \mid \mu_k, \Sigma_k), \qquad
       \Sigma_k = \frac{\sum_i r_{ik}(x_i - \mu_k)(x_i - \mu_k)^\top}{\sum_i r_{ik}} + \varepsilon I

    A row with missing cells (NaN) has the density of its observed part. With complete, distinct rows, no weights and no
    labels a seed gives scikit-learn's own starts and so its result; where rows are repeated or have weights, k-means
    clusters the distinct rows with their total weight. Those starts depend neither on the order of the rows nor on
    their repetition.

    The covariance above maximizes the expected log-density minus
    :math:`\tfrac{\varepsilon}{2}\mathrm{tr}\,\Sigma_k^{-1}` per row, so that term belongs to what EM monitors, and to
    the responsibilities while fitting: the objective never falls. scikit-learn leaves it out of the responsibilities,
    so the two agree to rounding with ``reg_covar=0``, and to about the ratio of ``reg_covar`` to the smallest variance
    otherwise.

    Parameters
    ----------
    n_components : int, default=1
        Number of components; there are more where ``y`` names more classes.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A covariance matrix per component, one for all, variances per component and column, or per component.
    tol : float, default=1e-3
        EM has converged when the mean log-likelihood per row gains less; 0 runs exactly ``max_iter`` iterations.
    reg_covar : float, default=1e-6
        :math:`\varepsilon`, added to the variances.
    max_iter : int, default=100
        Most EM iterations of a start.
    n_init : int, default=1
        Starts; the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        Where EM starts: from clusters, from rows that lie far apart, from random responsibilities, or from any rows.
    weights_init : array-like of shape (n_components,), optional
        Starting weights.
    means_init : array-like of shape (n_components, n_features), optional
        Starting means.
    precisions_init : array-like, optional
        Starting precisions (inverse covariances), in the shape of ``precisions_``.
    random_state : int, RandomState, Generator or None
        Seed of the starts.
    warm_start : bool, default=False
        Start from the last fit's parameters.
    verbose : int, default=0
        Above 0 prints iterations to standard error.
    verbose_interval : int, default=10
        Iterations between two lines.
    thorough : bool, default=False
        Search for the maximum as the other mixtures do, where scikit-learn's defaults run one start until it gains
        little: at least 20 starts, from seeds that lie far apart and from random responsibilities in turn, the best
        quarter (more where only one of them reaches the best value) run to the end by SQUAREM, until gain and estimated
        rest are below 1e-10 of the objective, for 2000 iterations at most. Larger ``n_init`` and ``max_iter`` count;
        ``init_params`` does not; ``tol=0`` still runs ``max_iter`` iterations.
    n_final : int, optional
        Starts that are run to the end after all have run for a few iterations; by default all.
    accelerate : bool, default=False
        Leap along the path of EM (SQUAREM); convergence is then judged by what is still to be gained.
    annealing : sequence of float, optional
        Temperatures above 1 to run through, from hot to cold, before the last run at 1.
    merge_rows : bool, optional
        Whether equal rows are taken together before fitting; by default they are where it pays.
    order : {None, "size"} or column, default=None
        Order of the components: as the start had them, by size, or by the mean of a column.
    feature_prior : prior from :mod:`softcount.priors`, optional
        A conjugate prior of means and covariances.
    estimate : {"mode", "mean"}, default="mode"
        Whether ``feature_prior`` gives the mode (MAP) or the mean of the posterior.
    missing_label, soft_labels, unlabeled_weight
        How ``y`` is read, and what rows without a label weigh; see :class:`~softcount.Mixture`.
    n_jobs : int, optional
        Threads; all usable cores by default. The result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
    means_ : array of shape (n_components, n_features)
    covariances_, precisions_, precisions_cholesky_ : array
        Of shape (n_components, n_features, n_features) for "full", (n_features, n_features) for "tied",
        (n_components, n_features) for "diag", (n_components,) for "spherical".
    converged_ : bool
    n_iter_ : int
    lower_bound_ : float
        What EM monitors, per row, at the parameters of the fit (scikit-learn's is that of the iteration before).
    lower_bounds_ : list of float
        The same after every iteration.
    log_likelihood_, n_parameters_, history_, n_starts_, n_finished_starts_, n_best_starts_, n_patterns_, notes_
        As in every mixture, see :class:`~softcount.Mixture`.
    component_names_, classification_, n_features_in_, model_, params_, counts_
        Likewise.

    Examples
    --------
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> sorted(model.means_[:, 0].round(3).tolist())
    [1.0, 10.0]
    """

    #: What other mixtures have as parameters.
    class_prior = None
    class_alpha = 0.0

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
        thorough: bool = False,
        n_final: int | None = None,
        accelerate: bool = False,
        annealing: Any = None,
        merge_rows: bool | None = None,
        order: Any = None,
        feature_prior: Any = None,
        estimate: str = "mode",
        missing_label: Any = np.nan,
        soft_labels: str = "responsibility",
        unlabeled_weight: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.thorough = thorough
        self.n_final = n_final
        self.accelerate = accelerate
        self.annealing = annealing
        self.merge_rows = merge_rows
        self.order = order
        self.feature_prior = feature_prior
        self.estimate = estimate
        self.missing_label = missing_label
        self.soft_labels = soft_labels
        self.unlabeled_weight = unlabeled_weight
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("reg_covar", self.reg_covar, 0.0)
        check_number("verbose_interval", self.verbose_interval, 1, whole=True)
        for name, value, choices in (
            ("covariance_type", self.covariance_type, FAMILIES),
            ("init_params", self.init_params, INIT_PARAMS),
        ):
            if value not in choices:
                raise InputError(f"{name} is {value!r}; choose one of {', '.join(map(repr, choices))}.")

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        X = read_numbers(self, X, reset=reset, accept_sparse=False)
        if reset:
            check_magnitude(X, self._feature_names())
        return (dense_block(X),)

    def _check_size(self, n_rows: int) -> None:
        if n_rows < 2:
            raise InputError(
                f"Found array with {n_rows} sample(s) (n_samples = {n_rows}) while a minimum of 2 is required by "
                "GaussianMixture: one row has no variance."
            )
        super()._check_size(n_rows)

    def _families(self) -> tuple[ColumnFamily, ...]:
        return (FAMILIES[self.covariance_type],)

    def _priors(self, n_components: int) -> tuple[Any, ...]:
        prior = MomentPrior()
        if self.feature_prior is not None:
            prior = table_counts(
                self.feature_prior, self.estimate, self._families()[0], self.n_features_in_, n_components
            )
        return (replace(prior, smoothing=0.0, floor=float(self.reg_covar)),)

    # ---- starts
    def _plan_for(self, chunks: Rows) -> Plan:
        total = chunks.total_weight
        journal, random_state = journal_and_state(self)
        random_state = number_for(journal.part("number"), random_state)
        rule = Stopping if self.accelerate or self.annealing else StoppingAsScikitLearn
        stopping: Stopping = rule(self.max_iter, self.tol, scale=total)
        n_init = max(self.n_init, THOROUGH_STARTS) if self.thorough else self.n_init
        if self.thorough and self.tol > 0.0:
            stopping = Stopping(max(self.max_iter, THOROUGH_ITERATIONS), THOROUGH_TOLERANCE)
        return Plan(
            init=self._starts(chunks, random_state),
            n_init=n_init,
            stopping=stopping,
            accelerate=bool(self.accelerate or self.thorough),
            annealing=tuple(self.annealing or ()),
            seed=seed_of(random_state),
            on_step=self._printer(),
            n_final=max(FEWEST_FINAL, n_init // 4) if self.thorough and self.n_final is None else self.n_final,
            confirm=self.thorough and self.n_final is None,
            merge_rows=self.merge_rows,
            adjust=self._adjust,
            journal=journal,
        )

    def _starts(self, chunks: Rows, random_state: Any) -> Any:
        if self.warm_start and hasattr(self, "params_"):
            return self.params_
        if self.weights_init is not None and self.means_init is not None and self.precisions_init is not None:
            return [given_parameters(self.covariance_type)]
        if self.thorough:
            return VARIED
        kind = INIT_PARAMS[self.init_params]
        few = rows_to_start_from(self._executor(), chunks)
        if few is None:
            return kind
        alike = scikit_learn_starts(
            self.init_params, few, self.n_components, self.n_init, random_state, n_jobs=self.n_jobs
        )
        return kind if alike is None else alike

    def _adjust(self, model: MixtureModel, params: MixtureParams) -> MixtureParams:
        """A start with what the user gave in place of its own."""
        if self.warm_start and hasattr(self, "params_"):
            return params
        return adjusted(
            model,
            params,
            self.covariance_type,
            weights=self.weights_init,
            means=self.means_init,
            precisions=self.precisions_init,
        )

    def _printer(self) -> Any:
        show = step_printer(type(self).__name__, 2 if self.verbose else 0)

        def every(step: Step, params: MixtureParams) -> None:
            if show is not None and step.iteration % self.verbose_interval == 0:
                show(step, params)

        return None if show is None else every

    # ---- attributes
    def _keep(self, learned: Learned) -> Self:
        per_row = 1.0 / self._n_rows
        self.lower_bounds_ = [step.objective * per_row for step in learned.fit.history[1:]]
        self.lower_bound_ = self.lower_bounds_[-1] if self.lower_bounds_ else self.log_likelihood_ * per_row
        return super()._keep(learned)

    def _publish(self, learned: Learned) -> None:
        params = learned.fit.params.blocks[0]
        self.means_ = np.ascontiguousarray(params["mean"].T)
        self.covariances_ = _covariances(self.covariance_type, params)
        self.precisions_cholesky_ = _precision_factors(self.covariance_type, self.covariances_)
        if self.covariance_type in ("diag", "spherical"):
            self.precisions_ = self.precisions_cholesky_**2
        else:
            self.precisions_ = self.precisions_cholesky_ @ np.swapaxes(self.precisions_cholesky_, -1, -2)


def _covariances(covariance_type: str, params: dict[str, FloatArray]) -> FloatArray:
    if covariance_type == "full":
        return np.array(params["cov"])
    if covariance_type == "tied":
        return np.array(params["cov"][0])
    return np.array(params["var"].T if covariance_type == "diag" else params["var"][0])


def _precision_factors(covariance_type: str, covariances: FloatArray) -> FloatArray:
    """Upper triangular U with the precision U U'; for variances the root of the precision."""
    if covariance_type in ("diag", "spherical"):
        return np.asarray(1.0 / np.sqrt(covariances))
    lower = np.linalg.cholesky(covariances)
    eye = np.broadcast_to(np.eye(covariances.shape[-1]), covariances.shape)
    return np.asarray(np.triu(np.swapaxes(np.linalg.solve(lower, eye), -1, -2)))
