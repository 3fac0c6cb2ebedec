"""One entry per family: parameters to try, how to sum or integrate over its values, and SciPy's name for it.

The laws beside this file run over :data:`CASES`. A new family needs one entry here and gets all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from softcount.families import (
    Bernoulli,
    Beta,
    Categorical,
    ColumnFamily,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Geometric,
    InverseGaussian,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    Params,
    Poisson,
    VonMises,
)

Expectation = Callable[[Params, Callable[[Any], Any]], Any]


@dataclass(frozen=True)
class Case:
    """How to test one family.

    Attributes
    ----------
    family : ColumnFamily
    params : tuple of Params
        Single distributions, chosen away from symmetry.
    expectation : callable or None
        ``expectation(params, f)`` sums or integrates ``f(x) * p(x)`` over every possible ``x``.
    frozen : callable or None
        SciPy's frozen distribution with these parameters.
    outside : tuple
        Values that the family cannot produce.
    constant : value
        What a column that never changes may hold.
    """

    family: ColumnFamily
    params: tuple[Params, ...]
    expectation: Expectation
    frozen: Callable[[Params], Any] | None = None
    outside: tuple[Any, ...] = (np.inf, -np.inf)
    constant: Any = 1.0

    @property
    def name(self) -> str:
        return self.family.name

    @property
    def is_vector(self) -> bool:
        return self.family.event_ndim == 1

    def draw(self, params: Params, seed: int, size: int) -> Any:
        return self.family.sample(params, np.random.default_rng(seed), size)


def sum_over(values: Callable[[Params], Any]) -> Callable[[ColumnFamily], Expectation]:
    """Expectation as a sum over values."""

    def expectation(case_family: ColumnFamily) -> Expectation:
        def total(params: Params, f: Callable[[Any], Any]) -> Any:
            x = values(params)
            p = np.exp(case_family.log_prob(x, params))
            return np.tensordot(p, np.asarray(f(x), dtype=np.float64), axes=(0, 0))

        return total

    return expectation


def up_to_tail(
    mean: Callable[[Params], float], spread: Callable[[Params], float]
) -> Callable[[ColumnFamily], Expectation]:
    """Counts from zero to forty spreads beyond the mean."""
    return sum_over(lambda p: np.arange(float(np.ceil(mean(p) + 40.0 * spread(p) + 60.0))))


def over_grid(points: Callable[[Params], tuple[Any, Any]]) -> Callable[[ColumnFamily], Expectation]:
    """Expectation as a weighted sum over quadrature points."""

    def expectation(family: ColumnFamily) -> Expectation:
        def total(params: Params, f: Callable[[Any], Any]) -> Any:
            x, weight = points(params)
            p = np.exp(family.log_prob(x, params)) * weight
            return np.tensordot(p, np.asarray(f(x), dtype=np.float64), axes=(0, 0))

        return total

    return expectation


def _count_pairs(n_trials: int) -> Any:
    return np.array([[i, n_trials - i] for i in range(n_trials + 1)], dtype=float)


def plane_grid(params: Params) -> tuple[Any, Any]:
    """Gauss-Hermite points in two dimensions, in the Gaussian's own axes."""
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    first, second = np.meshgrid(node, node, indexing="ij")
    factor = np.linalg.cholesky(params["cov"])
    unit = np.stack([first.ravel(), second.ravel()], axis=-1)
    volume = np.outer(weight, weight).ravel() * np.exp(0.5 * np.sum(unit**2, axis=1)) * np.linalg.det(factor)
    return params["mean"] + unit @ factor.T, volume


def fraction_grid() -> tuple[Any, Any]:
    """Equal steps of the logit: densities between 0 and 1 are smooth there, and the trapezoidal rule is exact."""
    logit = np.arange(-60.0, 36.5, 0.2)
    x = 1.0 / (1.0 + np.exp(-logit))
    return x, 0.2 * x / (1.0 + np.exp(logit))


def positive_grid() -> tuple[Any, Any]:
    """Equal steps of the logarithm."""
    x = np.exp(np.arange(-70.0, 8.0, 0.02))
    return x, 0.02 * x


def line_grid(params: Params) -> tuple[Any, Any]:
    """Equal steps of a hundredth of the standard deviation."""
    step = 0.02 * np.sqrt(params["var"])
    x = params["mean"] + step * np.arange(-800, 801)
    return x, np.full(x.shape, step)


def circle_grid() -> tuple[Any, Any]:
    """Equal steps around the circle."""
    x = np.linspace(-np.pi, np.pi, 1000, endpoint=False)
    return x, np.full(x.shape, 2.0 * np.pi / 1000)


def triangle_grid() -> tuple[Any, Any]:
    """Products of fractions: the first part, and the second part's share of what it leaves."""
    x, weight = fraction_grid()
    first, share = (grid.ravel() for grid in np.meshgrid(x, x, indexing="ij"))
    parts = np.stack([first, (1.0 - first) * share, (1.0 - first) * (1.0 - share)], axis=-1)
    return np.maximum(parts, 1e-300), np.outer(weight, weight).ravel() * (1.0 - first)


def _case(family: ColumnFamily, params: list[Params], expectation: Any, **rest: Any) -> Case:
    return Case(family, tuple(params), expectation(family), **rest)


def _counts() -> list[Case]:
    bernoulli, poisson, geometric, negative = Bernoulli(), Poisson(), Geometric(), NegativeBinomial(size=2.5)
    categorical = Categorical(n_values=(4,))
    return [
        _case(
            bernoulli,
            [bernoulli.parameters(p) for p in (0.3, 0.99, 1e-6)],
            sum_over(lambda p: np.array([0.0, 1.0])),
            frozen=lambda p: stats.bernoulli(np.exp(p["log_prob"])),
            outside=(2.0, -1.0, 0.5, np.inf),
        ),
        _case(
            categorical,
            [categorical.parameters(p) for p in ([0.1, 0.2, 0.3, 0.4], [0.97, 0.01, 0.01, 0.01])],
            sum_over(lambda p: np.arange(4)),
            outside=(4, 7, 1.5, -2),
        ),
        _case(
            geometric,
            [geometric.parameters(p) for p in (0.3, 0.9)],
            up_to_tail(lambda p: np.exp(-p["log_success"]), lambda p: np.exp(-p["log_success"])),
            frozen=lambda p: stats.geom(np.exp(p["log_success"]), loc=-1),
            outside=(-1.0, 0.5, np.inf),
        ),
        _case(
            negative,
            [negative.parameters(p) for p in (0.2, 0.8)],
            up_to_tail(lambda p: 2.5 * np.exp(-p["log_success"]), lambda p: 2.0 * np.exp(-p["log_success"])),
            frozen=lambda p: stats.nbinom(2.5, np.exp(p["log_success"])),
            outside=(-1.0, 0.5, np.inf),
        ),
        _case(
            poisson,
            [poisson.parameters(r) for r in (0.3, 4.0, 90.0)],
            up_to_tail(lambda p: float(p["rate"]), lambda p: float(np.sqrt(p["rate"]))),
            frozen=lambda p: stats.poisson(p["rate"]),
            outside=(-1.0, 0.5, np.inf),
        ),
    ]


def _numbers() -> list[Case]:
    beta, gamma, exponential, inverse = Beta(), Gamma(), Exponential(), InverseGaussian()
    gaussian, von_mises = Gaussian(), VonMises()
    return [
        _case(
            beta,
            [beta.parameters(a, b) for a, b in ((2.0, 3.5), (0.7, 0.9), (40.0, 5.0))],
            over_grid(lambda p: fraction_grid()),
            frozen=lambda p: stats.beta(p["a"], p["b"]),
            outside=(0.0, 1.0, -0.2, 1.5, np.inf),
            constant=0.25,
        ),
        _case(
            exponential,
            [exponential.parameters(r) for r in (0.4, 3.0)],
            over_grid(lambda p: positive_grid()),
            frozen=lambda p: stats.expon(scale=1.0 / p["rate"]),
            outside=(-1.0, np.inf),
        ),
        _case(
            gamma,
            [gamma.parameters(a, r) for a, r in ((3.0, 2.0), (0.6, 0.5), (50.0, 7.0))],
            over_grid(lambda p: positive_grid()),
            frozen=lambda p: stats.gamma(p["shape"], scale=1.0 / p["rate"]),
            outside=(0.0, -1.0, np.inf),
        ),
        _case(
            gaussian,
            [gaussian.parameters(m, v) for m, v in ((0.7, 2.0), (-3.0, 0.2))],
            over_grid(line_grid),
            frozen=lambda p: stats.norm(p["mean"], np.sqrt(p["var"])),
        ),
        _case(
            inverse,
            [inverse.parameters(m, s) for m, s in ((1.5, 2.0), (0.5, 8.0))],
            over_grid(lambda p: positive_grid()),
            frozen=lambda p: stats.invgauss(p["mean"] / p["shape"], scale=p["shape"]),
            outside=(0.0, -1.0, np.inf),
        ),
        _case(
            von_mises,
            [von_mises.parameters(m, k) for m, k in ((0.7, 2.0), (-2.0, 0.3), (3.0, 40.0))],
            over_grid(lambda p: circle_grid()),
            frozen=lambda p: stats.vonmises(p["concentration"], loc=p["direction"]),
        ),
    ]


def _vectors() -> list[Case]:
    multinomial, full, dirichlet = Multinomial(), MultivariateGaussian(), Dirichlet()
    return [
        _case(
            dirichlet,
            [dirichlet.parameters(a) for a in ([2.0, 3.0, 1.5], [0.9, 1.2, 4.0])],
            over_grid(lambda p: triangle_grid()),
            frozen=lambda p: stats.dirichlet(p["concentration"]),
            outside=([0.5, 0.5, 0.5], [1.0, 0.0, 0.0], [1.2, -0.4, 0.2]),
            constant=[0.2, 0.3, 0.5],
        ),
        _case(
            multinomial,
            [multinomial.parameters(p) for p in ([0.3, 0.7], [0.95, 0.05])],
            sum_over(lambda p: _count_pairs(1)),
            frozen=lambda p: stats.multinomial(1, np.exp(p["log_prob"])),
            outside=([-1.0, 2.0], [np.inf, 0.0]),
            constant=[2.0, 1.0],
        ),
        _case(
            full,
            [full.parameters([0.5, -1.0], [[2.0, 0.6], [0.6, 1.0]])],
            over_grid(plane_grid),
            frozen=lambda p: stats.multivariate_normal(p["mean"], p["cov"]),
            outside=([np.inf, 0.0],),
            constant=[1.0, 2.0],
        ),
    ]


CASES: dict[str, Case] = {case.name: case for case in _counts() + _numbers() + _vectors()}
