"""The Bernoulli family: a yes or a no."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log1p

from softcount._types import FloatArray
from softcount.families._base import Params, inner, prepend_size
from softcount.families.columns import PseudoCounts, others_mean
from softcount.families.linear import LinearFamily
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
            return {"log_prob": np.log(prob), "log_not": log1p(-prob)}

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
        certain = np.isneginf(params["log_not"])
        if not certain.any():
            return params["log_prob"] - params["log_not"], params["log_not"]
        log_not = np.where(certain, 0.0, params["log_not"])
        return params["log_prob"] - log_not, log_not

    def must_be_one(self, params: Params) -> FloatArray | None:
        r"""Where :math:`\theta_{jk} = 1`."""
        certain = np.isneginf(params["log_not"])
        return certain.astype(np.float64) if certain.any() else None

    def solve(self, statistics: Any, prior: PseudoCounts, previous: Params | None = None) -> Params:
        r""":math:`\theta_{jk} = (s_{jk} + a) / (w_{jk} + a + b)`; without any count one half."""
        ones = statistics["sum"] + prior.alpha
        other = prior.alpha if prior.other is None else prior.other
        zeros = np.maximum(statistics["weight"] - statistics["sum"], 0.0) + other
        total = ones + zeros
        with np.errstate(divide="ignore", invalid="ignore"):
            log_total = np.log(total)
            log_prob = np.where(total > 0.0, np.log(ones) - log_total, -np.log(2.0))
            log_not = np.where(total > 0.0, np.log(zeros) - log_total, -np.log(2.0))
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
        shape = params["log_prob"].shape
        ones = np.broadcast_to(prior.alpha, shape)
        zeros = ones if prior.other is None else np.broadcast_to(prior.other, shape)
        with np.errstate(invalid="ignore"):
            inside = np.where(ones > 0.0, ones * params["log_prob"], 0.0)
            inside = inside + np.where(zeros > 0.0, zeros * params["log_not"], 0.0)
        return float(inside.sum())

    def n_parameters(self, params: Params) -> int:
        """One per column and class."""
        return params["log_prob"].size

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""Signed :math:`\mathrm{KL}(\theta_{jk} \,\|\, \theta_{j,-k})`."""
        with np.errstate(divide="ignore"):
            rest = {name: np.log(others_mean(np.exp(logs), class_weight)) for name, logs in params.items()}
        gap = self.kl(params, rest)
        return np.where(params["log_prob"] >= rest["log_prob"], gap, -gap)
