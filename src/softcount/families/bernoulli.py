"""The Bernoulli family: a yes or a no."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount._types import FloatArray
from softcount.families._base import Params, inner, prepend_size
from softcount.families.columns import PseudoCounts, Scorer, others_mean, weighted_sum
from softcount.families.linear import LinearFamily
from softcount.families.rowwise import plus_row
from softcount.families.supports import is_yes_or_no

__all__ = ["Bernoulli"]


class Bernoulli(LinearFamily):
    r"""Bernoulli: :math:`p(x) = \theta^x (1-\theta)^{1-x}`, :math:`\eta = \log\frac{\theta}{1-\theta}`.

    Parameters are ``log_prob`` and ``log_not``, the logarithms of :math:`\theta` and :math:`1-\theta`, so
    that neither tail loses digits.

    Examples
    --------
    >>> family = Bernoulli()
    >>> float(family.log_prob(1, family.parameters(0.25)).round(4))
    -1.3863
    """

    name = "bernoulli"
    support = "0 or 1"

    def parameters(self, prob: ArrayLike) -> Params:
        """Parameters from the probability of a one."""
        prob = np.asarray(prob, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return {"log_prob": np.log(prob), "log_not": np.log1p(-prob)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\eta = \log\theta - \log(1-\theta)`."""
        return np.asarray(params["log_prob"] - params["log_not"])[..., None]

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`\theta = 1 / (1 + e^{-\eta})`."""
        eta = np.asarray(natural, dtype=np.float64)[..., 0]
        return {"log_prob": -np.logaddexp(0.0, -eta), "log_not": -np.logaddexp(0.0, eta)}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = \log(1 + e^\eta)`."""
        return np.logaddexp(0.0, np.asarray(natural, dtype=np.float64)[..., 0])

    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`u(x) = x`."""
        return np.asarray(x, dtype=np.float64)[..., None]

    def log_base(self, x: ArrayLike) -> FloatArray:
        """Zero: :math:`h(x) = 1` on 0 and 1."""
        return np.where(self.in_support(x), 0.0, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`E[x] = \theta`."""
        return np.exp(params["log_prob"])[..., None]

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\theta(1-\theta)`."""
        return np.exp(params["log_prob"] + params["log_not"])[..., None, None]

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`\theta` is the mean."""
        return self.parameters(np.asarray(mean, dtype=np.float64)[..., 0])

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`x \log\theta + (1-x) \log(1-\theta)`, with zero times minus infinity taken as zero."""
        return self.on_support(x, lambda v: np.where(v == 1.0, params["log_prob"], params["log_not"]))

    def kl(self, params: Params, other: Params) -> FloatArray:
        r""":math:`\theta \log(\theta / \theta') + (1 - \theta) \log((1 - \theta) / (1 - \theta'))`."""
        with np.errstate(invalid="ignore"):
            gap = [params[name] - other[name] for name in ("log_prob", "log_not")]
        share = [np.exp(params[name]) for name in ("log_prob", "log_not")]
        return np.maximum(inner(np.stack(share, axis=-1), np.stack(gap, axis=-1)), 0.0)

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`-\theta \log\theta - (1 - \theta) \log(1 - \theta)`."""
        logs = np.stack([params["log_prob"], params["log_not"]], axis=-1)
        return -inner(np.exp(logs), logs)

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw zeros and ones."""
        prob = np.exp(params["log_prob"])
        return np.asarray(rng.random(prepend_size(size, prob.shape)) < prob, dtype=np.float64)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Zero, one or missing."""
        return is_yes_or_no(x)

    def standard(self) -> Params:
        """Even odds."""
        return self.parameters(0.5)

    # ---- columns of a block
    def table(self, params: Params) -> tuple[FloatArray, FloatArray | None]:
        r"""Slopes :math:`\eta_{jk}`, constants :math:`\log(1-\theta_{jk})`; certain ones: must_be_one."""
        if params["log_not"].min(initial=0.0) > -np.inf:
            return params["log_prob"] - params["log_not"], params["log_not"]
        log_not = np.where(np.isneginf(params["log_not"]), 0.0, params["log_not"])
        return params["log_prob"] - log_not, log_not

    def must_be_one(self, params: Params) -> FloatArray | None:
        r"""Where :math:`\theta_{jk} = 1`."""
        if params["log_not"].min(initial=0.0) > -np.inf:
            return None
        return np.isneginf(params["log_not"]).astype(np.float64)

    def scorer_alone(self, scorer: Any, statistics: Any) -> Scorer | None:
        """The slopes, for complete rows: a table of weights says that some are not."""
        is_complete = statistics["weight"].shape[0] < statistics["sum"].shape[0]
        return scorer.for_complete_rows() if is_complete else None

    def solve(self, statistics: Any, prior: PseudoCounts, previous: Params | None = None) -> Params:
        r""":math:`\theta_{jk} = (s_{jk} + a) / (w_{jk} + a + b)`; without any count one half."""
        # In place, because tables of many columns and classes are larger than the caches.
        other = prior.alpha if prior.other is None else prior.other
        log_prob, log_not = statistics["sum"] + prior.alpha, np.negative(statistics["sum"])
        plus_row(log_not, statistics["weight"])
        below = log_not < 0.0 if log_not.min(initial=0.0) < 0.0 else None
        log_not = log_not if below is None else np.maximum(log_not, 0.0, out=log_not)
        log_not += other
        total = statistics["weight"] + prior.alpha + other
        # Summed anew only where the two differ: the weight often is one number for all columns of a class.
        total = total if below is None else np.where(below, log_prob + log_not, total)
        with np.errstate(divide="ignore", invalid="ignore"):
            less = -np.log(total)
            for table in (log_prob, log_not):
                plus_row(np.log(table, out=table), less)
        if total.min(initial=1.0) <= 0.0:
            nothing = np.broadcast_to(total <= 0.0, log_prob.shape)
            log_prob[nothing] = log_not[nothing] = -np.log(2.0)
        return {"log_prob": log_prob, "log_not": log_not}

    def anchored(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        """The prior itself: its pseudo-observations are a one and a zero."""
        return prior

    def needs_anchor(self, prior: Any) -> bool:
        """Never."""
        return False

    def centered(self, prior: PseudoCounts, pooled: Any) -> PseudoCounts:
        r"""Pseudo-observations :math:`(a + b)\,q_j` of a one and :math:`(a + b)(1 - q_j)` of a zero."""
        zeros = prior.alpha if prior.other is None else prior.other
        mass = prior.alpha + zeros
        total = pooled["weight"] + mass
        share = (pooled["sum"] + prior.alpha) / np.where(total > 0.0, total, 1.0)
        share = np.where(total > 0.0, np.clip(share, 0.0, 1.0), 0.5)
        return PseudoCounts(mass * share, mass * (1.0 - share))

    def log_prior(self, params: Params, prior: PseudoCounts) -> float:
        r""":math:`\sum a \log\theta + b \log(1-\theta)`, a Beta(a + 1, b + 1) density up to its constant."""
        zeros = prior.alpha if prior.other is None else prior.other
        return weighted_sum(prior.alpha, params["log_prob"]) + weighted_sum(zeros, params["log_not"])

    def n_parameters(self, params: Params) -> int:
        """One per column and class."""
        return params["log_prob"].size

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""Signed :math:`\mathrm{KL}(\theta_{jk} \,\|\, \theta_{j,-k})`."""
        with np.errstate(divide="ignore"):
            rest = {name: np.log(others_mean(np.exp(logs), class_weight)) for name, logs in params.items()}
        gap = self.kl(params, rest)
        return np.where(params["log_prob"] >= rest["log_prob"], gap, -gap)
