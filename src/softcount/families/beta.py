"""The beta family: shares and rates strictly between zero and one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from softcount._types import FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.columns import ColumnFamily
from softcount.families.dirichlet_fit import concentrations, log_density
from softcount.families.supports import is_fraction

__all__ = ["Beta"]


class Beta(ColumnFamily):
    r"""Beta: :math:`p(x) = x^{a-1} (1-x)^{b-1} / B(a, b)`, :math:`u(x) = (\log x, \log(1-x))`.

    :math:`\eta = (a - 1, b - 1)` and :math:`A(\eta) = \log B(a, b)`. Maximum likelihood solves
    :math:`\psi(a) - \psi(a+b) = E[\log x]` and :math:`\psi(b) - \psi(a+b) = E[\log(1-x)]`. A constant
    column has no maximum: :math:`a + b` is at most 1e8. Zero and one themselves are impossible; a table
    that holds them is often shrunk to :math:`(x (n-1) + \tfrac12) / n` first.

    Examples
    --------
    >>> family = Beta()
    >>> float(family.log_prob(0.5, family.parameters(2.0, 2.0)).round(4))
    0.4055
    """

    name = "beta"
    support = "numbers strictly between 0 and 1"
    inner_point = 0.5

    def parameters(self, a: ArrayLike, b: ArrayLike) -> Params:
        """Parameters from the two concentrations; the mean is ``a / (a + b)``."""
        a, b = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
        return {"a": np.array(a), "b": np.array(b)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`(a - 1, b - 1)`."""
        return _pair(params) - 1.0

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`a = \eta_1 + 1`, :math:`b = \eta_2 + 1`."""
        eta = np.asarray(natural, dtype=np.float64)
        return {"a": eta[..., 0] + 1.0, "b": eta[..., 1] + 1.0}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = \log B(\eta_1 + 1, \eta_2 + 1)`."""
        pair = np.asarray(natural, dtype=np.float64) + 1.0
        return np.asarray(special.gammaln(pair).sum(axis=-1) - special.gammaln(pair.sum(axis=-1)))

    def stats(self, x: ArrayLike) -> FloatArray:
        r""":math:`(\log x, \log(1-x))`."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([np.log(x), np.log1p(-x)], axis=-1)

    def log_base(self, x: ArrayLike) -> FloatArray:
        """Zero: :math:`h(x) = 1` between 0 and 1."""
        return np.where(self.in_support(x), 0.0, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`(\psi(a) - \psi(a+b), \psi(b) - \psi(a+b))`."""
        pair = _pair(params)
        return np.asarray(special.digamma(pair) - special.digamma(pair.sum(axis=-1, keepdims=True)))

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\mathrm{diag}(\psi'(a), \psi'(b)) - \psi'(a+b)`."""
        pair = _pair(params)
        own = special.polygamma(1, pair)[..., None] * np.eye(2)
        return np.asarray(own - special.polygamma(1, pair.sum(axis=-1))[..., None, None])

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r"""The concentrations with these expected logarithms."""
        pair = concentrations(np.asarray(mean, dtype=np.float64))
        return {"a": pair[..., 0], "b": pair[..., 1]}

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`(a-1)\log x + (b-1)\log(1-x) - \log B(a, b)`."""
        pair = _pair(params)
        return self.on_support(x, lambda v: log_density(np.stack([v, 1.0 - v], axis=-1), pair))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw numbers between zero and one."""
        draws = rng.beta(params["a"], params["b"], prepend_size(size, params["a"].shape))
        # Near the ends draws round to 0 and 1, which are not in the support.
        return np.clip(draws, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).epsneg)

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Strictly between 0 and 1, or missing."""
        return is_fraction(x)

    def standard(self) -> Params:
        """The uniform distribution."""
        return self.parameters(1.0, 1.0)


def _pair(params: Params) -> FloatArray:
    return np.stack([params["a"], params["b"]], axis=-1)
