"""The Gaussian family: a number around a mean, with a variance per class or shared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount import kernels
from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily
from softcount.families.covariance import free_scatter, raised_variance
from softcount.families.statistics import Moments

__all__ = ["Gaussian", "MomentPrior"]

LOG_2PI = float(np.log(2.0 * np.pi))
#: Variances below this cannot be inverted; a column that is constant in exact arithmetic gets it.
SMALLEST_VARIANCE = 1e-290


@dataclass(frozen=True)
class MomentPrior:
    r"""Prior of means and variances: pseudo-rows, extra degrees of freedom, and a variance floor.

    With the data's weight :math:`w`, mean and scatter merged with the prior's pseudo-rows (as
    :class:`~softcount.families.statistics.Moments` merge), the variance is

    .. math:: v = \frac{S + S_0}{w + \nu} + \varepsilon .

    A variance that several classes or columns share has this prior once.

    Attributes
    ----------
    weight, mean : float or array
        Weight and mean of the pseudo-rows that the mean is drawn towards.
    scatter, dof : float or array
        :math:`S_0` and :math:`\nu`: numbers, arrays that broadcast to (n_columns, n_classes), or for full covariances
        matrices and a :math:`\nu` per class. An infinite ``dof`` fixes the (co)variance at ``scatter``.
    smoothing : float
        The floor as a share of the largest variance of any column.
    floor : float or None
        The floor :math:`\varepsilon` itself; ``None`` means ``smoothing`` still has to be applied to the data.
    bound : array of shape (n_columns,) or None
        Smallest variances, as a constraint: see :mod:`softcount.families.covariance`.
    relative : pair of arrays or None
        What is to be added to ``scatter`` and ``dof`` per unit of the rows' total weight, once that is known.
    """

    weight: float | FloatArray = 0.0
    mean: float | FloatArray = 0.0
    scatter: float | FloatArray = 0.0
    dof: float | FloatArray = 0.0
    smoothing: float = 1e-9
    floor: float | None = None
    bound: FloatArray | None = None
    relative: tuple[FloatArray, FloatArray] | None = None

    def settled(self, total: float) -> MomentPrior:
        """The prior with what it holds per unit of weight added for rows of weight ``total``."""
        if self.relative is None:
            return self
        scatter, dof = self.relative
        return replace(self, scatter=self.scatter + total * scatter, dof=self.dof + total * dof, relative=None)

    def take(self, classes: IntArray) -> MomentPrior:
        """The prior of the given classes: the same for all."""
        return self


@dataclass(frozen=True)
class Gaussian(ColumnFamily):
    r"""Gaussian: :math:`\eta = (\mu/v, -1/(2v))`, :math:`u(x) = (x, x^2)`, :math:`h = 1/\sqrt{2\pi}`.

    Parameters
    ----------
    shared : bool
        One variance per column for all classes: the boundary between classes is then linear.
    spherical : bool
        One variance per class for all columns.

    Examples
    --------
    >>> family = Gaussian()
    >>> float(family.log_prob(0.0, family.parameters(0.0, 1.0)).round(4))
    -0.9189
    """

    shared: bool = False
    spherical: bool = False

    name = "gaussian"
    support = "finite numbers"

    def parameters(self, mean: ArrayLike, var: ArrayLike) -> Params:
        """Parameters from mean and variance."""
        mean, var = np.broadcast_arrays(np.asarray(mean, dtype=np.float64), np.asarray(var, dtype=np.float64))
        return {"mean": np.array(mean), "var": np.array(var)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`(\mu/v, -1/(2v))`."""
        return np.stack([params["mean"] / params["var"], -0.5 / params["var"]], axis=-1)

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`v = -1/(2\eta_2)`, :math:`\mu = \eta_1 v`."""
        eta = np.asarray(natural, dtype=np.float64)
        var = -0.5 / eta[..., 1]
        return {"mean": eta[..., 0] * var, "var": var}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = -\eta_1^2/(4\eta_2) - \tfrac12\log(-2\eta_2)`."""
        eta = np.asarray(natural, dtype=np.float64)
        return np.asarray(-(eta[..., 0] ** 2) / (4.0 * eta[..., 1]) - 0.5 * np.log(-2.0 * eta[..., 1]))

    def stats(self, x: ArrayLike) -> FloatArray:
        """:math:`(x, x^2)`."""
        x = np.asarray(x, dtype=np.float64)
        return np.stack([x, x * x], axis=-1)

    def log_base(self, x: ArrayLike) -> FloatArray:
        r""":math:`-\tfrac12\log 2\pi`."""
        return np.where(self.in_support(x), -0.5 * LOG_2PI, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`(\mu, \mu^2 + v)`."""
        return np.stack([params["mean"], params["mean"] ** 2 + params["var"]], axis=-1)

    def cov_stats(self, params: Params) -> FloatArray:
        r""":math:`\begin{pmatrix} v & 2\mu v \\ 2\mu v & 4\mu^2 v + 2v^2\end{pmatrix}`."""
        mean, var = params["mean"], params["var"]
        cross = 2.0 * mean * var
        rows = [np.stack([var, cross], axis=-1), np.stack([cross, 4.0 * mean**2 * var + 2.0 * var**2], axis=-1)]
        return np.stack(rows, axis=-2)

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`v = E[x^2] - E[x]^2`."""
        mean = np.asarray(mean, dtype=np.float64)
        var = np.maximum(mean[..., 1] - mean[..., 0] ** 2, SMALLEST_VARIANCE)
        return {"mean": mean[..., 0], "var": var}

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`-\tfrac12\log(2\pi v) - (x-\mu)^2/(2v)`."""
        x = np.asarray(x, dtype=np.float64)
        deviation = x - params["mean"]
        return np.asarray(-0.5 * (LOG_2PI + np.log(params["var"]) + deviation * deviation / params["var"]))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw numbers."""
        shape = prepend_size(size, np.shape(params["mean"]))
        return np.asarray(rng.normal(params["mean"], np.sqrt(params["var"]), shape))

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite or missing."""
        x = np.asarray(x)
        return np.asarray(~np.isinf(x) if x.dtype.kind == "f" else np.ones(x.shape, dtype=bool))

    # ---- columns of a block
    def scorer(self, params: Params) -> GaussianScorer:
        """Squared distances to the class means."""
        return GaussianScorer(params)

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> GaussianTally:
        """Weight, mean and scatter per column and class."""
        if isinstance(block, SparseBlock):
            raise InputError("The gaussian family reads dense columns; this block is sparse. Use X.toarray().")
        return GaussianTally(block.n_columns, n_classes, None if params is None else params["mean"])

    def solve(self, statistics: Moments, prior: MomentPrior, previous: Params | None = None) -> Params:
        r"""Means and variances of the merged moments, see :class:`MomentPrior`; without weight the overall ones."""
        pooled = statistics.pooled()
        prior = self.anchored(prior, pooled)
        merged = with_pseudo_rows(statistics, prior)
        scatter, weight = merged.scatter, statistics.weight
        mean = np.where(merged.weight > 0.0, merged.mean, pooled.mean)
        if self.shared:
            scatter, weight = scatter.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
        overall, overall_weight = pooled.scatter, pooled.weight
        if self.spherical:
            scatter, weight = scatter.sum(axis=0, keepdims=True), weight.sum(axis=0, keepdims=True)
            overall, overall_weight = overall.sum(axis=0, keepdims=True), overall_weight.sum(axis=0, keepdims=True)
        own = free_scatter(prior.scatter, shared=self.shared, spherical=self.spherical)
        mass = weight + prior.dof
        with np.errstate(divide="ignore", invalid="ignore"):
            overall = np.where(overall_weight > 0.0, overall / overall_weight, 1.0)
            var = np.where(mass > 0.0, (scatter + own) / mass, overall)
        var = np.where(np.isinf(mass), own, var) + (prior.floor or 0.0)
        var = raised_variance(var, prior.bound, spherical=self.spherical)
        return {"mean": mean, "var": np.array(np.broadcast_to(np.maximum(var, SMALLEST_VARIANCE), mean.shape))}

    def anchored(self, prior: MomentPrior, pooled: Any) -> MomentPrior:
        """The prior settled for the rows' weight, and its floor: ``smoothing`` times the largest column's variance."""
        weight = pooled.weight[:, 0]
        prior = prior.settled(float(weight.max(initial=0.0)))
        if prior.floor is not None:
            return prior
        scatter = np.diagonal(pooled.scatter[0]) if pooled.is_full else pooled.scatter[:, 0]
        variance = scatter / np.where(weight > 0.0, weight, 1.0)
        return replace(prior, floor=prior.smoothing * float(variance.max(initial=0.0)))

    def centered(self, prior: MomentPrior, pooled: Any) -> MomentPrior:
        """One more pseudo-row per class, with the column's overall mean and variance; an explicit prior stays."""
        if prior.relative is not None:
            return prior
        prior = self.anchored(prior, pooled)
        if np.any(prior.weight) or np.any(prior.scatter) or np.any(prior.dof):
            return prior
        weight = pooled.weight[:, :1]
        spread = np.diagonal(pooled.scatter[0])[:, None] if pooled.is_full else pooled.scatter[:, :1]
        variance = np.where(weight > 0.0, spread / np.where(weight > 0.0, weight, 1.0), 1.0)
        return replace(prior, weight=1.0, mean=pooled.mean[:, 0], scatter=variance, dof=1.0)

    def needs_anchor(self, prior: MomentPrior) -> bool:
        """While the floor, or the rows' total weight, is not known."""
        return prior.floor is None or prior.relative is not None

    def log_prior(self, params: Params, prior: MomentPrior) -> float:
        r""":math:`-\sum \tfrac{\nu}{2}\log v + (S_0 + \kappa(\mu-m_0)^2)/(2v)`, up to a constant."""
        mean, var = params["mean"], params["var"]
        # A shared variance has one prior, however many cells show it.
        free = var[: 1 if self.spherical else None, : 1 if self.shared else None]
        own = free_scatter(prior.scatter, shared=self.shared, spherical=self.spherical)
        dof = np.broadcast_to(prior.dof, free.shape)
        spread = np.where(np.isinf(dof), 0.0, np.where(np.isinf(dof), 0.0, dof) * np.log(free) + own / free)
        pull = prior.weight * (mean - _column(prior.mean)) ** 2 / var
        return float(-0.5 * (np.sum(spread) + np.sum(np.broadcast_to(pull, mean.shape))))

    def penalty(self, params: Params, prior: MomentPrior) -> FloatArray | None:
        r""":math:`-\varepsilon/(2v)` per cell: with it the variance ``S/w + floor`` maximizes what EM monitors."""
        return -0.5 * prior.floor / params["var"] if prior.floor else None

    def n_parameters(self, params: Params) -> int:
        """Means, and the variances that are free."""
        n_columns, n_classes = params["mean"].shape
        variances = (1 if self.spherical else n_columns) * (1 if self.shared else n_classes)
        return n_columns * n_classes + variances

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray] | None:
        r"""With shared variances: slopes :math:`(\mu_k - c)/v`, intercepts :math:`-\sum_j (\mu_k - c)(\mu_k + c)/(2v)`.

        The center :math:`c` of the classes' means changes every class's score by the same amount, so that digits the
        means have in common do not cancel in differences of slopes.
        """
        if not self.shared:
            return None
        center = params["mean"].mean(axis=1, keepdims=True)
        slopes = (params["mean"] - center) / params["var"]
        return slopes, -0.5 * np.sum((params["mean"] + center) * slopes, axis=0)

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        r"""Signed :math:`\mathrm{KL}` from the Gaussian with the other classes' mean and variance."""
        mean, var = params["mean"], params["var"]
        share = class_weight / class_weight.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.where(share < 1.0, 1.0 - share, 1.0)
            rest = ((mean @ share)[:, None] - share * mean) / others
            second = (((var + mean**2) @ share)[:, None] - share * (var + mean**2)) / others
            rest = np.where(share < 1.0, rest, mean)
            rest_var = np.where(share < 1.0, np.maximum(second - rest**2, SMALLEST_VARIANCE), var)
        gap = 0.5 * (np.log(rest_var / var) + (var + (mean - rest) ** 2) / rest_var - 1.0)
        return np.asarray(np.where(mean >= rest, gap, -gap))


def with_pseudo_rows(statistics: Moments, prior: MomentPrior) -> Moments:
    """The moments merged with the prior's pseudo-rows, which sit at one point."""
    if not np.any(prior.weight):
        return statistics
    shape = statistics.mean.shape
    mean = _column(prior.mean)
    weight = np.broadcast_to(np.asarray(prior.weight, dtype=np.float64), shape)
    return statistics + Moments(weight, np.broadcast_to(mean, shape), np.zeros_like(statistics.scatter))


def _column(mean: float | FloatArray) -> FloatArray:
    mean = np.asarray(mean, dtype=np.float64)
    return mean[:, None] if mean.ndim == 1 else mean


class GaussianScorer:
    """Adds the Gaussian log-densities of the observed cells."""

    def __init__(self, params: Params) -> None:
        self.mean = np.ascontiguousarray(params["mean"])
        self.precision = np.ascontiguousarray(1.0 / params["var"])

    def add(self, block: DenseBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        kernels.gaussian_scores(_as_float(block.values), self.mean, self.precision, out)


class GaussianTally:
    """Collects moments, chunk by chunk about a center close to the mean, so that no digits cancel."""

    #: A chunk whose center is this many times farther off than the spread is counted again about its own mean.
    CANCELLATION = 1e3

    def __init__(self, n_columns: int, n_classes: int, center: FloatArray | None) -> None:
        self.shape = (n_columns, n_classes)
        self.center = None if center is None else np.ascontiguousarray(center)
        zeros = np.zeros(self.shape)
        self.moments = Moments(zeros, zeros, zeros)

    def add(self, block: DenseBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        values = _as_float(block.values)
        self._merge(lambda center, out: kernels.gaussian_moments(values, resp, center, *out))

    def add_known(self, block: DenseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows of known class."""
        values = _as_float(block.values)
        self._merge(lambda center, out: kernels.gaussian_class_moments(values, codes, weight, center, *out))

    def statistics(self) -> Moments:
        """The moments."""
        return self.moments

    def _merge(self, count: Any) -> None:
        center = self.moments.mean if self.center is None else self.center
        part = self._about(count, center)
        shift = part.weight * (part.mean - center) ** 2
        if np.any(shift > self.CANCELLATION * part.scatter):
            part = self._about(count, np.ascontiguousarray(part.mean))
        self.moments = self.moments + part

    def _about(self, count: Any, center: FloatArray) -> Moments:
        weight, total, square = (np.zeros(self.shape) for _ in range(3))
        count(np.ascontiguousarray(center), (weight, total, square))
        safe = np.where(weight > 0.0, weight, 1.0)
        mean = np.where(weight > 0.0, center + total / safe, 0.0)
        return Moments(weight, mean, np.maximum(square - total * total / safe, 0.0))


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype in (np.float64, np.float32) else values.astype(np.float64)

