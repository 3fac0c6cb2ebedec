"""The Gaussian family: a number around a mean, with a variance per class or shared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcount import kernels
from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily, others_mean
from softcount.families.covariance import free_scatter, raised_variance
from softcount.families.gamma_function import relative_gap
from softcount.families.moment_prior import MomentPrior, as_column, with_pseudo_rows
from softcount.families.statistics import Moments
from softcount.families.supports import is_finite

__all__ = ["Gaussian", "MomentPrior"]

LOG_2PI = float(np.log(2.0 * np.pi))
#: Variances below this cannot be inverted; a column that is constant in exact arithmetic gets it.
SMALLEST_VARIANCE = 1e-290


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
    prior_class = MomentPrior

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
        mean, var = params["mean"], params["var"]

        def log_density(x: FloatArray) -> FloatArray:
            with np.errstate(over="ignore"):
                return np.asarray(-0.5 * (LOG_2PI + np.log(var) + (x - mean) ** 2 / var))

        return self.on_support(x, log_density)

    def fit(self, x: ArrayLike, weight: ArrayLike | None = None) -> Params:
        """Mean and variance about it: the variance is taken after the mean, so that no digits cancel."""
        x, share = self.checked(x, weight)
        center = super().fit(x, share)["mean"]
        moved = super().fit(x - center, share)
        return {"mean": center + moved["mean"], "var": moved["var"]}

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`\tfrac12 \log(2 \pi e v)`."""
        return np.asarray(0.5 * (LOG_2PI + 1.0 + np.log(params["var"])))

    def kl(self, params: Params, other: Params) -> FloatArray:
        r""":math:`\tfrac12\bigl(v/v' - 1 - \log(v/v') + (\mu - \mu')^2 / v'\bigr)`."""
        shift = (params["mean"] - other["mean"]) ** 2 / other["var"]
        return np.asarray(0.5 * (relative_gap(params["var"], other["var"]) + shift))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw numbers."""
        shape = prepend_size(size, np.shape(params["mean"]))
        return np.asarray(rng.normal(params["mean"], np.sqrt(params["var"]), shape))

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite or missing."""
        return is_finite(x)

    def standard(self) -> Params:
        """The standard normal distribution."""
        return self.parameters(0.0, 1.0)

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
        if self.needs_anchor(prior):
            prior = self.anchored(prior, statistics.pooled())
        merged = with_pseudo_rows(statistics, prior)
        scatter, weight = merged.scatter, statistics.weight
        if self.shared:
            scatter, weight = scatter.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
        if self.spherical:
            scatter, weight = scatter.sum(axis=0, keepdims=True), weight.sum(axis=0, keepdims=True)
        mean = merged.mean
        own = free_scatter(prior.scatter, shared=self.shared, spherical=self.spherical)
        mass = weight + prior.dof
        if (merged.weight > 0.0).all() and (mass > 0.0).all() and np.isfinite(mass).all():
            var = (scatter + own) / mass
        else:
            pooled = statistics.pooled()
            mean = np.where(merged.weight > 0.0, mean, pooled.mean)
            overall, overall_weight = pooled.scatter, pooled.weight
            if self.spherical:
                overall, overall_weight = overall.sum(axis=0, keepdims=True), overall_weight.sum(axis=0, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                overall = np.where(overall_weight > 0.0, overall / overall_weight, 1.0)
                var = np.where(mass > 0.0, (scatter + own) / mass, overall)
            var = np.where(np.isinf(mass), own, var)
        var = var + (prior.floor or 0.0)
        var = raised_variance(var, prior.bound, spherical=self.spherical)
        return {"mean": mean, "var": np.array(np.broadcast_to(np.maximum(var, SMALLEST_VARIANCE), mean.shape))}

    def anchored(self, prior: Any, pooled: Any) -> Any:
        """The prior settled for the rows' weight, and its floor: ``smoothing`` times the largest column's variance."""
        weight = pooled.weight[:, 0]
        prior = prior.settled(float(weight.max(initial=0.0)))
        if prior.floor is not None and not prior.awaits_bound:
            return prior
        scatter = np.diagonal(pooled.scatter[0]) if pooled.is_full else pooled.scatter[:, 0]
        variance = scatter / np.where(weight > 0.0, weight, 1.0)
        if prior.awaits_bound:
            # A constant column has the same density everywhere, whatever its variance.
            prior = replace(prior, bound=prior.bound_share * np.where(variance > 0.0, variance, 1.0))
        if prior.floor is not None:
            return prior
        return replace(prior, floor=prior.smoothing * float(variance.max(initial=0.0)))

    def centered(self, prior: MomentPrior, pooled: Any) -> MomentPrior:
        """One more pseudo-row per class, with the column's overall mean and variance; an explicit prior stays."""
        if prior.relative is not None:
            return prior
        prior = self.anchored(prior, pooled)
        assert isinstance(prior, MomentPrior)
        if np.any(prior.weight) or np.any(prior.scatter) or np.any(prior.dof):
            return prior
        weight = pooled.weight[:, :1]
        spread = np.diagonal(pooled.scatter[0])[:, None] if pooled.is_full else pooled.scatter[:, :1]
        variance = np.where(weight > 0.0, spread / np.where(weight > 0.0, weight, 1.0), 1.0)
        return replace(prior, weight=1.0, mean=pooled.mean[:, 0], scatter=variance, dof=1.0)

    def needs_anchor(self, prior: MomentPrior) -> bool:
        """While the floor, the bound or the rows' total weight is not known."""
        return prior.floor is None or prior.relative is not None or prior.awaits_bound

    def log_prior(self, params: Params, prior: MomentPrior) -> float:
        r""":math:`-\sum \tfrac{\nu}{2}\log v + (S_0 + \nu\varepsilon + \kappa(\mu-m_0)^2)/(2v)`, up to a constant.

        The floor :math:`\varepsilon` widens the prior's own rows as it does the data's, see :meth:`penalty`.
        """
        mean, var = params["mean"], params["var"]
        # A shared variance has one prior, however many cells show it.
        free = var[: 1 if self.spherical else None, : 1 if self.shared else None]
        own = free_scatter(prior.scatter, shared=self.shared, spherical=self.spherical)
        dof = np.broadcast_to(prior.dof, free.shape)
        finite = np.where(np.isinf(dof), 0.0, dof)
        own = own + finite * (prior.floor or 0.0)
        spread = np.where(np.isinf(dof), 0.0, finite * np.log(free) + own / free)
        pull = as_column(prior.weight) * (mean - as_column(prior.mean)) ** 2 / var
        return float(-0.5 * (np.sum(spread) + np.sum(np.broadcast_to(pull, mean.shape))))

    def penalty(self, params: Params, prior: MomentPrior) -> FloatArray | None:
        r""":math:`-\varepsilon/(2v)` per cell: with it the variance ``S/w + floor`` maximizes what EM monitors."""
        return -0.5 * prior.floor / params["var"] if prior.floor else None

    def n_parameters(self, params: Params) -> int:
        """Means, and the variances that are free."""
        n_columns, n_classes = (int(size) for size in params["mean"].shape)
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
        # About the columns' averages, or the squares of far-off means would swallow the variances.
        near = mean - mean.mean(axis=1, keepdims=True)
        rest = others_mean(near, class_weight)
        rest_var = np.maximum(others_mean(var + near**2, class_weight) - rest**2, SMALLEST_VARIANCE)
        gap = self.kl(self.parameters(near, var), self.parameters(rest, rest_var))
        return np.asarray(np.where(near >= rest, gap, -gap))


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
        self.is_empty = True

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
        # Merging with nothing changes nothing, but costs as much as counting a few hundred rows.
        self.moments = part if self.is_empty else self.moments + part
        self.is_empty = False

    def _about(self, count: Any, center: FloatArray) -> Moments:
        weight, total, square = (np.zeros(self.shape) for _ in range(3))
        count(np.ascontiguousarray(center), (weight, total, square))
        safe = np.where(weight > 0.0, weight, 1.0)
        mean = np.where(weight > 0.0, center + total / safe, 0.0)
        return Moments(weight, mean, np.maximum(square - total * total / safe, 0.0))


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype in (np.float64, np.float32) else values.astype(np.float64)
