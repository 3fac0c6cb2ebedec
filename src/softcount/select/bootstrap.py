r"""The bootstrap likelihood-ratio test, which says whether one more component is more than chance.

The statistic :math:`2(\ell_{K+1} - \ell_K)` has no chi-squared distribution, for K components are K + 1 with a weight
on the edge of what is possible. Its distribution under K components is found by drawing rows from the fitted model with
K and fitting both models to them (McLachlan, 1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import Chunks
from softcount.core.execute import ThreadExecutor, resolve_n_jobs
from softcount.core.iterate import Stopping
from softcount.core.learn import Plan, learn
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.simulate import marginal_log_likelihood, simulated
from softcount.core.start import VARIED
from softcount.estimators._fitting import seed_of
from softcount.estimators.mixture._base import BaseMixture
from softcount.inputs.weights import read_weights

__all__ = ["BootstrapTest", "bootstrap_test"]

#: Log-likelihood still to be gained when a sample's fit ends: small beside a statistic that decides anything.
TOLERANCE = 2e-3
FEWEST_ITERATIONS = 1000
#: Statistics this close, as a share of the log-likelihood, are equal.
ROUNDING = 1e-9

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BootstrapTest:
    """Result of a bootstrap likelihood-ratio test.

    Attributes
    ----------
    n_components : pair of int
        Of the model that is tested, and of the larger one.
    statistic : float
        Twice the gain in log-likelihood.
    p_value : float
        ``(1 + simulated statistics at least as large) / (1 + n_samples)``.
    simulated : array of shape (n_samples,)
        The statistic where the smaller model is true.
    """

    n_components: tuple[int, int]
    statistic: float
    p_value: float
    simulated: FloatArray

    @property
    def n_samples(self) -> int:
        """Tables that were drawn."""
        return int(self.simulated.shape[0])

    @property
    def standard_error(self) -> float:
        """Of the p-value, from the number of samples."""
        return math.sqrt(self.p_value * (1.0 - self.p_value) / (self.n_samples + 1.0))

    def __str__(self) -> str:
        small, large = self.n_components
        return (
            f"{large} against {small} components: 2 (l1 - l0) = {self.statistic:.4f}, bootstrap p = {self.p_value:.4f} "
            f"({self.n_samples} samples, standard error {self.standard_error:.4f})"
        )


@dataclass(frozen=True)
class _Refit:
    """One sample of the bootstrap; whole, so that it can be sent to another process."""

    small: MixtureModel
    small_params: MixtureParams
    large: MixtureModel
    chunks: Chunks
    max_iter: int
    n_init: int

    def statistic(self, stream: np.random.Generator) -> float:
        """The statistic of rows drawn from the smaller model."""
        drawn = simulated(self.small, self.small_params, self.chunks, stream)
        null = self._fit(self.small, drawn, Plan(init=self.small_params))
        plan = Plan(init=VARIED, n_init=self.n_init, n_final=max(1, self.n_init // 4), seed=stream)
        return max(0.0, 2.0 * (self._fit(self.large, drawn, plan) - null))

    def carried_on(self, model: MixtureModel, params: MixtureParams, rows: Chunks) -> float:
        """Log-likelihood of a fit that goes on until it has converged as those of the samples do."""
        return self._fit(model, rows, Plan(init=params))

    def _fit(self, model: MixtureModel, rows: Chunks, plan: Plan) -> float:
        stopping = Stopping(self.max_iter, TOLERANCE, scale=1.0)
        plan = replace(plan, stopping=stopping, accelerate=True, merge_rows=None)
        learned = learn(model, ThreadExecutor(1), rows, plan)
        if learned.interrupted:
            # A fit that was cut short is no sample of the statistic.
            raise KeyboardInterrupt
        return marginal_log_likelihood(learned.model, learned.fit.params, rows)


def bootstrap_test(
    smaller: BaseMixture,
    larger: BaseMixture,
    X: Any,
    *,
    sample_weight: Any = None,
    n_samples: int = 99,
    n_init: int = 12,
    random_state: Any = None,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> BootstrapTest:
    """Test a fitted mixture against a larger one by the parametric bootstrap.

    Parameters
    ----------
    smaller, larger : fitted mixtures of the same kind
        Fitted to ``X`` without labels; where they stopped early they are run on until they have converged.
    X : table
        The rows both were fitted to.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.
    n_samples : int, default=99
        Samples to draw; the smallest p-value is ``1 / (n_samples + 1)``.
    n_init : int, default=12
        Starts of the larger model on each sample; a quarter of them is run to the end.
    random_state : int, Generator, RandomState or None
        Seed.
    n_jobs : int or None, default=1
        Processes over which the samples are spread (``None``: all cores); starting them takes a second or two.
    progress : callable, optional
        Called with the number of samples done and the number there will be.

    Returns
    -------
    test : BootstrapTest
    """
    rows = smaller._rows(X)
    weight = read_weights(sample_weight, rows.n_rows)
    if weight is not None and (weight != np.floor(weight)).any():
        raise InputError("The bootstrap draws rows, so sample_weight has to say how often each row counts.")
    if len(smaller.model_.families) != len(larger.model_.families) or n_samples < 1:
        raise InputError(
            "bootstrap_test compares two mixtures of the same kind, fitted to the same X, by n_samples >= 1."
        )
    same = smaller._block_feature_names() == larger._block_feature_names()
    if not same or smaller._block_categories() != larger._block_categories():
        raise InputError("The two mixtures were fitted to different columns or values; fit both to the same X.")
    chunks = rows.with_weight(weight)
    counts = (smaller.model_.n_components, larger.model_.n_components)
    if counts[0] >= counts[1]:
        raise InputError(f"The mixtures have {counts[0]} and {counts[1]} components; give the smaller one first.")
    work = _Refit(
        smaller.model_,
        smaller.params_,
        larger.model_,
        chunks,
        max(int(larger.max_iter), FEWEST_ITERATIONS),
        n_init,
    )
    # Fits that stopped earlier than those of the samples would count against the larger model.
    found = [work.carried_on(m.model_, m.params_, chunks) for m in (smaller, larger)]
    streams = np.random.default_rng(seed_of(random_state)).spawn(n_samples)
    statistics = []
    for statistic in _spread(work, streams, resolve_n_jobs(n_jobs)):
        statistics.append(statistic)
        if progress is not None:
            progress(len(statistics), n_samples)
    observed = max(0.0, 2.0 * (found[1] - found[0]))
    drawn = np.array(statistics)
    # Two likelihoods that are equal but for rounding differ by a little more than nothing.
    rounding = ROUNDING * max(abs(found[0]), 1.0)
    p_value = (1.0 + float((drawn >= observed - rounding).sum())) / (n_samples + 1.0)
    return BootstrapTest(counts, observed, p_value, drawn)


def _spread(work: _Refit, streams: list[np.random.Generator], n_jobs: int) -> Iterator[float]:
    """The statistics in the order of the streams, however many processes work them out."""
    if n_jobs == 1:
        yield from map(work.statistic, streams)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=n_jobs, return_as="generator")(delayed(work.statistic)(stream) for stream in streams)
