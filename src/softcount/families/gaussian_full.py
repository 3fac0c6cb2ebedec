"""The multivariate Gaussian family: a vector around a mean, with a full covariance per class or shared by all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from softcount import kernels
from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily, one_hot
from softcount.families.covariance import as_matrix, raised_covariance
from softcount.families.gaussian import LOG_2PI, Gaussian, MomentPrior, with_pseudo_rows
from softcount.families.gaussian_missing import add_incomplete_scores, count_incomplete
from softcount.families.gaussian_shared import SharedGaussianScorer
from softcount.families.statistics import Moments

__all__ = ["MultivariateGaussian"]


@dataclass(frozen=True)
class MultivariateGaussian(ColumnFamily):
    r"""Multivariate Gaussian: :math:`\eta = (\Sigma^{-1}\mu, -\tfrac12\Sigma^{-1})`, :math:`u(x) = (x, xx^\top)`.

    Parameters are ``mean`` of shape (..., d) and ``cov`` of shape (..., d, d); as the model of a block ``mean`` has the
    class axis last like every table, ``cov`` has it first because each class's matrix is factored as a whole.

    Parameters
    ----------
    shared : bool
        One covariance for all classes (linear and Fisher's discriminant analysis).

    Examples
    --------
    >>> import numpy as np
    >>> family = MultivariateGaussian()
    >>> float(family.log_prob([0.0, 0.0], family.parameters([0.0, 0.0], np.eye(2))).round(4))
    -1.8379
    """

    shared: bool = False

    name = "multivariate_gaussian"
    support = "finite numbers"
    event_ndim = 1
    closed_form_with_missing = False

    def parameters(self, mean: ArrayLike, cov: ArrayLike) -> Params:
        """Parameters from mean vector and covariance matrix."""
        return {"mean": np.asarray(mean, dtype=np.float64), "cov": np.asarray(cov, dtype=np.float64)}

    def natural(self, params: Params) -> FloatArray:
        r""":math:`\Sigma^{-1}\mu` and the flattened :math:`-\tfrac12\Sigma^{-1}`, one after the other."""
        precision = np.linalg.inv(params["cov"])
        first = np.einsum("...de,...e->...d", precision, params["mean"])
        return np.concatenate([first, (-0.5 * precision).reshape(*first.shape[:-1], -1)], axis=-1)

    def from_natural(self, natural: ArrayLike) -> Params:
        r""":math:`\Sigma = (-2\eta_2)^{-1}`, :math:`\mu = \Sigma\eta_1`."""
        first, second = _split(np.asarray(natural, dtype=np.float64))
        cov = np.linalg.inv(-2.0 * second)
        return {"mean": np.einsum("...de,...e->...d", cov, first), "cov": cov}

    def log_normalizer(self, natural: ArrayLike) -> FloatArray:
        r""":math:`A(\eta) = -\tfrac14 \eta_1^\top\eta_2^{-1}\eta_1 - \tfrac12\log|-2\eta_2|`."""
        first, second = _split(np.asarray(natural, dtype=np.float64))
        solved = np.linalg.solve(second, first[..., None])[..., 0]
        return np.asarray(-0.25 * np.sum(first * solved, axis=-1) - 0.5 * np.linalg.slogdet(-2.0 * second)[1])

    def stats(self, x: ArrayLike) -> FloatArray:
        r""":math:`x` and the flattened :math:`xx^\top`."""
        x = np.asarray(x, dtype=np.float64)
        return np.concatenate([x, (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], -1)], axis=-1)

    def log_base(self, x: ArrayLike) -> FloatArray:
        r""":math:`-\tfrac{d}{2}\log 2\pi`."""
        x = np.asarray(x, dtype=np.float64)
        return np.where(self.in_support(x).all(axis=-1), -0.5 * x.shape[-1] * LOG_2PI, -np.inf)

    def mean_stats(self, params: Params) -> FloatArray:
        r""":math:`\mu` and the flattened :math:`\Sigma + \mu\mu^\top`."""
        mean = params["mean"]
        second = params["cov"] + mean[..., :, None] * mean[..., None, :]
        return np.concatenate([mean, second.reshape(*mean.shape[:-1], -1)], axis=-1)

    def cov_stats(self, params: Params) -> FloatArray:
        r"""Covariance of :math:`(x, xx^\top)` by Isserlis' theorem."""
        m, s = params["mean"], params["cov"]
        d = m.shape[-1]
        third = np.einsum("...ab,...c->...abc", s, m) + np.einsum("...ac,...b->...abc", s, m)
        fourth = np.einsum("...ac,...bd->...abcd", s, s) + np.einsum("...ad,...bc->...abcd", s, s)
        for left, right in (("ac", "bd"), ("ad", "bc"), ("bc", "ad"), ("bd", "ac")):
            outer = f"...{left},...{right[0]},...{right[1]}->...abcd"
            fourth = fourth + np.einsum(outer, s, m, m)
        batch = m.shape[:-1]
        upper = np.concatenate([s, third.reshape(*batch, d, d * d)], axis=-1)
        mixed = np.moveaxis(third.reshape(*batch, d, d * d), -1, -2)
        lower = np.concatenate([mixed, fourth.reshape(*batch, d * d, d * d)], axis=-1)
        return np.concatenate([upper, lower], axis=-2)

    def from_mean_stats(self, mean: ArrayLike) -> Params:
        r""":math:`\Sigma = E[xx^\top] - \mu\mu^\top`."""
        first, second = _split(np.asarray(mean, dtype=np.float64))
        return {"mean": first, "cov": second - first[..., :, None] * first[..., None, :]}

    def log_prob(self, x: ArrayLike, params: Params) -> FloatArray:
        r""":math:`-\tfrac12(d\log 2\pi + \log|\Sigma| + (x-\mu)^\top\Sigma^{-1}(x-\mu))` through Cholesky."""
        deviation = np.asarray(x, dtype=np.float64) - params["mean"]
        factor = np.linalg.cholesky(params["cov"])
        solved = np.linalg.solve(factor, deviation[..., None])[..., 0]
        log_det = 2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
        return np.asarray(-0.5 * (deviation.shape[-1] * LOG_2PI + log_det + np.sum(solved * solved, axis=-1)))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw vectors."""
        mean = params["mean"]
        noise = rng.standard_normal(prepend_size(size, mean.shape))
        return np.asarray(mean + np.einsum("...de,...e->...d", np.linalg.cholesky(params["cov"]), noise))

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite or missing."""
        return Gaussian().in_support(x)

    # ---- columns of a block: mean (d, K), cov (K, d, d)
    def scorer(self, params: Params) -> FullGaussianScorer | SharedGaussianScorer:
        """Squared distances through the Cholesky factors of the precisions."""
        if self.shared:
            factors, log_det = precision_factors(params["cov"][:1])
            return SharedGaussianScorer(params, factors[0], float(log_det[0]))
        return FullGaussianScorer(params)

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> FullGaussianTally:
        """Weight, mean vector and scatter matrix per class."""
        if isinstance(block, SparseBlock):
            raise InputError("The Gaussian family reads dense columns; this block is sparse. Use X.toarray().")
        return FullGaussianTally(block.n_columns, n_classes, params)

    def solve(self, statistics: Moments, prior: MomentPrior, previous: Params | None = None) -> Params:
        r""":math:`\Sigma_k = (S_k + S_0)/(w_k + \nu) + \varepsilon I`; a class without weight takes the overall one."""
        pooled = statistics.pooled()
        prior = self.anchored(prior, pooled)
        merged = with_pseudo_rows(statistics, prior)
        scatter, weight = merged.scatter, statistics.weight[0]
        mean = np.where(merged.weight > 0.0, merged.mean, pooled.mean)
        if self.shared:
            scatter, weight = scatter.sum(axis=0, keepdims=True), weight.sum(keepdims=True)
        own = self._own_scatter(prior, mean.shape[0])
        mass = (weight + prior.dof)[:, None, None]
        overall = pooled.scatter / max(float(pooled.weight[0, 0]), 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            cov = np.where(mass > 0.0, (scatter + own) / mass, overall)
        cov = np.where(np.isinf(mass), own, cov) + (prior.floor or 0.0) * np.eye(mean.shape[0])
        cov = np.stack([raised_covariance(0.5 * (matrix + matrix.T), prior.bound) for matrix in cov])
        return {"mean": mean, "cov": np.array(np.broadcast_to(cov, (mean.shape[1], *cov.shape[1:])))}

    def _own_scatter(self, prior: MomentPrior, n_columns: int) -> FloatArray:
        """The prior's scatter matrix, one per covariance that is free."""
        own = as_matrix(prior.scatter, n_columns)
        return own.mean(axis=0) if self.shared and own.ndim == 3 else own

    def anchored(self, prior: MomentPrior, pooled: Any) -> MomentPrior:
        """The prior settled for the rows' weight, with its floor worked out."""
        return Gaussian().anchored(prior, pooled)

    def centered(self, prior: MomentPrior, pooled: Any) -> MomentPrior:
        """One more pseudo-row per class, with the columns' overall means and variances; an explicit prior stays."""
        diagonal = Gaussian().centered(prior, pooled)
        if diagonal is prior or np.ndim(diagonal.scatter) != 2 or np.asarray(diagonal.scatter).shape[1] != 1:
            return diagonal
        return replace(diagonal, scatter=np.diag(np.asarray(diagonal.scatter)[:, 0]))

    def needs_anchor(self, prior: MomentPrior) -> bool:
        """While the floor, or the rows' total weight, is not known."""
        return Gaussian().needs_anchor(prior)

    def log_prior(self, params: Params, prior: MomentPrior) -> float:
        r""":math:`-\sum_k \tfrac{\nu}{2}\log|\Sigma_k| + \tfrac12\mathrm{tr}\,\Sigma_k^{-1}(S_0 + \kappa\delta\delta^\top)`."""
        if not (np.any(prior.dof) or np.any(prior.weight) or np.any(prior.scatter)):
            return 0.0
        # A shared covariance has one prior, however many classes show it.
        free = params["cov"][: 1 if self.shared else None]
        precision = np.linalg.inv(free)
        own = self._own_scatter(prior, free.shape[1])
        dof = np.broadcast_to(prior.dof, free.shape[:1])
        finite = np.where(np.isinf(dof), 0.0, dof)
        trace = np.where(np.isinf(dof), 0.0, np.sum(precision * own, axis=(1, 2)))
        delta = params["mean"].T - np.asarray(prior.mean, dtype=np.float64)
        distance = np.sum((delta[:, None, :] @ precision)[:, 0] * delta, axis=1)
        pull = np.asarray(prior.weight) * distance
        return float(-0.5 * (np.sum(finite * np.linalg.slogdet(free)[1]) + np.sum(trace) + np.sum(pull)))

    def penalty(self, params: Params, prior: MomentPrior) -> FloatArray | None:
        r""":math:`-\tfrac{\varepsilon}{2}\mathrm{tr}\,\Sigma_k^{-1}` per row."""
        if not prior.floor:
            return None
        inverse = np.linalg.inv(params["cov"])
        return np.asarray(-0.5 * prior.floor * np.trace(inverse, axis1=1, axis2=2))

    def n_parameters(self, params: Params) -> int:
        """Means, and the free entries of the covariances."""
        n_columns, n_classes = params["mean"].shape
        return n_columns * n_classes + n_columns * (n_columns + 1) // 2 * (1 if self.shared else n_classes)

    def take(self, params: Params, classes: IntArray) -> Params:
        """Parameters of the given classes, in that order."""
        return {"mean": params["mean"][..., classes], "cov": params["cov"][classes]}

    def draw(self, params: Params, codes: CodesArray, rng: np.random.Generator) -> NDArray[Any]:
        """Rows drawn from the classes ``codes``."""
        factor = np.linalg.cholesky(params["cov"])
        noise = rng.standard_normal((codes.shape[0], params["mean"].shape[0]))
        rows = params["mean"].T[codes]
        for k in np.unique(codes):
            chosen = codes == k
            rows[chosen] += noise[chosen] @ factor[k].T
        return rows

    def column_scores(self, params: Params, block: Any, weights: FloatArray) -> tuple[Any, FloatArray]:
        r""":math:`-\tfrac12 (x-\mu)_j [\Sigma^{-1}(x-\mu)]_j` per cell, the log-determinants per row.

        In rows with missing cells the quadratic form is that of the observed part.
        """
        values = np.asarray(block.values, dtype=np.float64)
        cells, rest = np.zeros(values.shape), np.zeros(values.shape[0])
        observed = np.ones(values.shape, dtype=bool) if block.missing is None else ~block.missing
        patterns, group = np.unique(observed, axis=0, return_inverse=True)
        for index, pattern in enumerate(patterns):
            rows = np.flatnonzero(group.reshape(-1) == index)
            seen = np.flatnonzero(pattern)
            for k in range(weights.shape[1]):
                cov = params["cov"][k][np.ix_(seen, seen)]
                deviation = values[np.ix_(rows, seen)] - params["mean"][seen, k]
                share = weights[rows, k]
                cells[np.ix_(rows, seen)] -= 0.5 * share[:, None] * deviation * np.linalg.solve(cov, deviation.T).T
                rest[rows] -= 0.5 * share * (seen.size * LOG_2PI + np.linalg.slogdet(cov)[1])
        return cells, rest

    def telling(self, params: Params, class_weight: FloatArray) -> FloatArray:
        """As for a diagonal Gaussian with the same variances."""
        var = np.diagonal(params["cov"], axis1=1, axis2=2).T
        return Gaussian().telling({"mean": params["mean"], "var": np.array(var)}, class_weight)

    def linear_form(self, params: Params) -> tuple[FloatArray, FloatArray] | None:
        r"""With a shared covariance: slopes :math:`\Sigma^{-1}(\mu_k - c)`, as in :meth:`Gaussian.linear_form`."""
        if not self.shared:
            return None
        center = params["mean"].mean(axis=1, keepdims=True)
        slopes = cho_solve(cho_factor(params["cov"][0], lower=True), params["mean"] - center)
        return slopes, -0.5 * np.sum((params["mean"] + center) * slopes, axis=0)


def precision_factors(cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Upper triangular :math:`U_k` with :math:`\Sigma_k^{-1} = U_k U_k^\top`, and :math:`\log|U_k|`."""
    factors = np.empty_like(cov)
    log_det = np.empty(cov.shape[0])
    eye = np.eye(cov.shape[1])
    for k, matrix in enumerate(cov):
        try:
            lower = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise InputError(
                f"The covariance of component {k} is singular: its rows lie in a subspace (or there are too few of "
                "them) and nothing keeps it off the boundary. Raise var_smoothing, reg_covar or min_variance, use shrinkage "
                "or a shared or diagonal covariance, or drop columns that are functions of others."
            ) from None
        factors[k] = solve_triangular(lower, eye, lower=True).T
        log_det[k] = -np.log(np.diagonal(lower)).sum()
    return factors, log_det


class FullGaussianScorer:
    """Adds the log-densities of rows; incomplete rows are scored by their observed part."""

    def __init__(self, params: Params) -> None:
        self.params = params
        self.mean = np.ascontiguousarray(params["mean"].T)
        self.factors, self.log_det = precision_factors(params["cov"])

    def add(self, block: DenseBlock, out: FloatArray) -> None:
        """Add the scores of the block's rows to ``out``."""
        values = np.asarray(block.values, dtype=np.float64)
        if block.missing is None or not block.missing.any():
            kernels.gaussian_full_scores(values, self.mean, self.factors, self.log_det, out)
            return
        whole = np.flatnonzero(~block.missing.any(axis=1))
        part = np.zeros((whole.shape[0], out.shape[1]))
        kernels.gaussian_full_scores(values[whole], self.mean, self.factors, self.log_det, part)
        out[whole] += part
        add_incomplete_scores(values, block.missing, self.params, out)


class FullGaussianTally:
    """Collects moments with full scatters; missing cells enter by their expectation given the observed ones."""

    CANCELLATION = 1e3

    def __init__(self, n_columns: int, n_classes: int, params: Params | None) -> None:
        self.params = params
        zeros = np.zeros((n_columns, n_classes))
        self.moments = Moments(zeros, zeros, np.zeros((n_classes, n_columns, n_columns)))

    def add(self, block: DenseBlock, resp: FloatArray) -> None:
        """Count rows with responsibilities."""
        values = np.asarray(block.values, dtype=np.float64)
        if block.missing is None or not block.missing.any():
            self._merge(values, resp)
            return
        incomplete = block.missing.any(axis=1)
        whole = np.flatnonzero(~incomplete)
        self._merge(np.ascontiguousarray(values[whole]), np.ascontiguousarray(resp[whole]))
        self.moments = self.moments + count_incomplete(values, block.missing, resp, self.params)

    def add_known(self, block: DenseBlock, codes: CodesArray, weight: FloatArray | None) -> None:
        """Count rows of known class."""
        self.add(block, one_hot(codes, weight, self.moments.weight.shape[1]))

    def statistics(self) -> Moments:
        """The moments."""
        return self.moments

    def _merge(self, values: FloatArray, resp: FloatArray) -> None:
        center = self.moments.mean if self.params is None else self.params["mean"]
        part = self._about(values, resp, center)
        spread = np.diagonal(part.scatter, axis1=1, axis2=2).T
        if np.any(part.weight * (part.mean - center) ** 2 > self.CANCELLATION * spread):
            part = self._about(values, resp, part.mean)
        self.moments = self.moments + part

    def _about(self, values: FloatArray, resp: FloatArray, center: FloatArray) -> Moments:
        n_columns, n_classes = center.shape
        weight, total = np.zeros(n_classes), np.zeros((n_classes, n_columns))
        scatter = np.zeros((n_classes, n_columns, n_columns))
        kernels.gaussian_full_moments(values, resp, np.ascontiguousarray(center.T), weight, total, scatter)
        safe = np.where(weight > 0.0, weight, 1.0)
        mean = np.where(weight > 0.0, center + total.T / safe, 0.0)
        scatter = scatter - total[:, :, None] * total[:, None, :] / safe[:, None, None]
        return Moments(np.broadcast_to(weight, center.shape).copy(), mean, scatter)


def _split(flat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First component (..., d) and second (..., d, d) of a flattened pair."""
    d = int((np.sqrt(1.0 + 4.0 * flat.shape[-1]) - 1.0) / 2.0 + 0.5)
    return flat[..., :d], flat[..., d:].reshape(*flat.shape[:-1], d, d)
