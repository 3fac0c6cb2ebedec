"""The multinomial family: how often each word of a vocabulary occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._types import CodesArray, FloatArray
from softcount.families._base import Params, inner, prepend_size
from softcount.families.blocks import Block
from softcount.families.columns import PseudoCounts, others_mean, weighted_sum
from softcount.families.linear import LinearFamily, LinearScorer, LinearTally
from softcount.families.multinomial_missing import MultinomialScorer, MultinomialTally, hidden_share
from softcount.families.rowwise import add_to_rows, sum_of_rows
from softcount.families.supports import is_non_negative

__all__ = ["Multinomial", "SeenWords"]


class Multinomial(LinearFamily):
    r"""Multinomial over a vector of counts: :math:`p(x) = \frac{n!}{\prod_j x_j!} \prod_j \theta_j^{x_j}`.

    The event is the whole vector: the last axis of ``log_prob`` runs over the words. As the model of a block's
    columns (class axis last) the score is that of the *sequence* of words, :math:`\sum_j x_{ij} \log\theta_{jk}`,
    without the coefficient, which contains no class. Where the counts of some words are missing, the words that were
    seen are scored among those that could be, see :mod:`softcount.families.multinomial_missing`.

    Examples
    --------
    >>> family = Multinomial()
    >>> float(family.log_prob([2, 1], family.parameters([0.5, 0.5])).round(4))
    -0.9808
    """

    name = "multinomial"
    support = "counts of 0 or more"
    event_ndim = 1
    counts_repetitions = True
    closed_form_with_missing = False

    def parameters(self, prob: ArrayLike) -> Params:
        """Parameters from the probabilities of the words, along the last axis."""
        with np.errstate(divide="ignore"):
            return {"log_prob": np.log(np.asarray(prob, dtype=np.float64))}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\eta_j = \log\theta_j`."""
        return np.asarray(params["log_prob"])

    def from_natural(self, natural: ArrayLike) -> Params:
        """The words' probabilities, normalized."""
        eta = np.asarray(natural, dtype=np.float64)
        return {"log_prob": eta - np.logaddexp.reduce(eta, axis=-1, keepdims=True)}

    def log_normalizer(self, natural: ArrayLike, n_trials: ArrayLike = 1.0) -> FloatArray:
        r""":math:`A(\eta) = n \log\sum_j e^{\eta_j}` for a total of ``n_trials`` words."""
        eta = np.asarray(natural, dtype=np.float64)
        return np.asarray(np.asarray(n_trials) * np.logaddexp.reduce(eta, axis=-1))

    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`u(x) = x`."""
        return np.asarray(x, dtype=np.float64)

    def log_base(self, x: ArrayLike) -> FloatArray:
        r"""The logarithm of the multinomial coefficient."""
        x = np.asarray(x, dtype=np.float64)
        counts = np.where(self.in_support(x) & ~np.isnan(x), x, 0.0)
        inside = special.gammaln(counts.sum(axis=-1) + 1.0) - special.gammaln(counts + 1.0).sum(axis=-1)
        return np.asarray(np.where(self.in_support(x).all(axis=-1), inside, -np.inf))

    def mean_stats(self, params: Params, n_trials: ArrayLike = 1.0) -> FloatArray:
        r""":math:`n\theta`."""
        return np.asarray(np.asarray(n_trials)[..., None] * np.exp(params["log_prob"]))

    def cov_stats(self, params: Params, n_trials: ArrayLike = 1.0) -> FloatArray:
        r""":math:`n(\mathrm{diag}(\theta) - \theta\theta^\top)`."""
        theta = np.exp(params["log_prob"])
        cov = theta[..., :, None] * (np.eye(theta.shape[-1]) - theta[..., None, :])
        return np.asarray(np.asarray(n_trials)[..., None, None] * cov)

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`\theta` is proportional to the mean counts; without any count all are equal."""
        mean = np.asarray(mean, dtype=np.float64)
        total = mean.sum(axis=-1, keepdims=True)
        even = np.full_like(mean, 1.0 / mean.shape[-1])
        return self.parameters(np.divide(mean, total, out=even, where=total > 0.0))

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`\log h(x) + \sum_j x_j \log\theta_j`, with zero times minus infinity taken as zero."""
        x = np.asarray(x, dtype=np.float64)
        counts = np.where(self.in_support(x) & ~np.isnan(x), x, 0.0)
        return inner(counts, params["log_prob"]) + self.log_base(x)

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`-\sum_j \theta_j \log\theta_j`: the entropy of a single word."""
        return -inner(np.exp(params["log_prob"]), params["log_prob"])

    def kl(self, params: Params, other: Params, n_trials: ArrayLike = 1.0) -> FloatArray:
        r""":math:`n \sum_j \theta_j \log(\theta_j / \theta'_j)` for texts of ``n_trials`` words."""
        with np.errstate(invalid="ignore"):
            gap = params["log_prob"] - other["log_prob"]
        return np.maximum(np.asarray(n_trials) * inner(np.exp(params["log_prob"]), gap), 0.0)

    def sample(
        self,
        params: Params,
        rng: np.random.Generator,
        size: int | tuple[int, ...] | None = None,
        n_trials: ArrayLike = 1,
    ) -> NDArray[Any]:
        """Draw count vectors with ``n_trials`` words each."""
        prob = np.exp(params["log_prob"])
        prob = prob / prob.sum(axis=-1, keepdims=True)
        shape = prepend_size(size, prob.shape[:-1])
        return rng.multinomial(np.broadcast_to(n_trials, shape), prob, size=shape or None)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Non-negative (fractions are allowed: tf-idf weights are counts here) or missing."""
        return is_non_negative(x)

    def standard(self) -> Params:
        """Two words equally often."""
        return self.parameters([0.5, 0.5])

    # ---- columns of a block: class axis last, words first
    def table(self, params: Params) -> tuple[FloatArray, FloatArray | None]:
        r"""Slopes :math:`\log\theta_{jk}`, no constants."""
        return params["log_prob"], None

    def scorer(self, params: Params) -> LinearScorer:
        """The product with the slopes, among the words that could be seen."""
        return MultinomialScorer(params)

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> LinearTally:
        """Weighted sums of the words; without ``params`` hidden words are not guessed."""
        return MultinomialTally(block, n_classes, params)

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        """Evidence per word; what hidden words leave to the others belongs to the row."""
        cells, rest = super().column_scores(params, block, weights)
        if block.has_missing:
            rest = rest - (weights * hidden_share(block, np.exp(params["log_prob"]))).sum(axis=1)
        return cells, rest

    def row_base(self, block: Block) -> FloatArray | None:
        """None: rows are scored as sequences of words."""
        return None

    def solve(self, statistics: Any, prior: PseudoCounts, previous: Params | None = None) -> Params:
        r""":math:`\theta_{jk} = (s_{jk} + a) / \sum_j (s_{jk} + a)`; without any word the same for all."""
        # In place, because tables of many words and classes are larger than the caches.
        log_prob = statistics["sum"] + prior.alpha
        total = sum_of_rows(log_prob)
        with np.errstate(divide="ignore", invalid="ignore"):
            add_to_rows(np.log(log_prob, out=log_prob), -np.log(total))
        log_prob[:, total <= 0.0] = -np.log(log_prob.shape[0])
        return {"log_prob": log_prob}

    def anchored(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        """The prior itself: its pseudo-observations are one of each word."""
        return prior

    def needs_anchor(self, prior: Any) -> bool:
        """Never."""
        return False

    def centered(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        r"""Pseudo-words :math:`a V q_t` in proportion to how often each word occurs overall."""
        smoothed = pooled["sum"] + prior.alpha
        mass = np.broadcast_to(prior.alpha, smoothed.shape).sum(axis=0)
        total = smoothed.sum(axis=0)
        return PseudoCounts(mass * smoothed / np.where(total > 0.0, total, 1.0))

    def log_prior(self, params: Params, prior: PseudoCounts) -> float:
        r""":math:`\sum a \log\theta`, a Dirichlet(a + 1) density up to its constant."""
        return weighted_sum(prior.alpha, params["log_prob"])

    def n_parameters(self, params: Params) -> int:
        """All but one word per class."""
        n_words, n_classes = (int(size) for size in params["log_prob"].shape)
        return (n_words - 1) * n_classes

    def draw(
        self, params: Params, codes: CodesArray, rng: np.random.Generator, length: ArrayLike = 100
    ) -> NDArray[Any]:
        """Rows of word counts, ``length`` words each."""
        prob = np.exp(params["log_prob"]).T
        prob = prob / prob.sum(axis=1, keepdims=True)
        lengths = np.broadcast_to(length, codes.shape)
        return np.array(
            [rng.multinomial(n, prob[k]) for n, k in zip(lengths, codes, strict=True)], dtype=np.float64
        ).reshape(codes.shape[0], prob.shape[1])

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r""":math:`\theta_{jk} \log(\theta_{jk} / \theta_{j,-k})`: the word's share of the divergence."""
        theta = np.exp(params["log_prob"])
        with np.errstate(divide="ignore", invalid="ignore"):
            log_rest = np.log(others_mean(theta, class_weight))
            return np.asarray(np.where(theta > 0.0, theta * (params["log_prob"] - log_rest), 0.0))


class SeenWords(Multinomial):
    """Words counted as they were seen, hidden ones left out: for rules of scoring that are no likelihood."""

    name = "seen_words"
    closed_form_with_missing = True

    def scorer(self, params: Params) -> LinearScorer:
        """The product with the slopes."""
        return LinearScorer(params["log_prob"], None, None)

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> LinearTally:
        """Weighted sums of the words."""
        return LinearTally(block, n_classes)
