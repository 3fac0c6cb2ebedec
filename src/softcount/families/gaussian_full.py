"""The multivariate Gaussian family: a vector around a mean, with a full covariance per class or shared by all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from softcount._errors import InputError
from softcount._types import CodesArray, FloatArray, IntArray
from softcount.families._base import Params, prepend_size
from softcount.families.blocks import Block, SparseBlock
from softcount.families.cholesky import cholesky_factors, precision_factors
from softcount.families.columns import ColumnFamily
from softcount.families.covariance import as_matrix, raised_covariance
from softcount.families.gamma_function import relative_gap
from softcount.families.gaussian import LOG_2PI, SMALLEST_VARIANCE, Gaussian
from softcount.families.gaussian_full_rows import FullGaussianScorer, FullGaussianTally
from softcount.families.gaussian_shared import SharedGaussianScorer
from softcount.families.moment_prior import MomentPrior, with_pseudo_rows
from softcount.families.statistics import Moments
from softcount.families.supports import is_finite

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
    prior_class = MomentPrior
    event_ndim = 1
    closed_form_with_missing = False
    counts_incomplete_rows = False

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
        r""":math:`-\tfrac12(d\log 2\pi + \log|\Sigma| + (x-\mu)^\top\Sigma^{-1}(x-\mu))` through Cholesky.

        Of a vector with missing entries the density of the others; zero where all are missing.
        """
        x = np.asarray(x, dtype=np.float64)
        possible = self.in_support(x)
        seen = possible & ~np.isnan(x)
        cov, deviation = params["cov"], np.where(seen, x, 0.0) - params["mean"]
        if not seen.all():
            # A missing entry as an independent one that lies at its mean: it adds nothing but log 1.
            cov = np.where(seen[..., :, None] & seen[..., None, :], cov, np.eye(x.shape[-1]))
            deviation = np.where(seen, deviation, 0.0)
        factor = cholesky_factors(cov)
        solved = np.linalg.solve(factor, deviation[..., None])[..., 0]
        log_det = 2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
        inside = -0.5 * (seen.sum(axis=-1) * LOG_2PI + log_det + np.sum(solved * solved, axis=-1))
        return np.asarray(np.where(possible.all(axis=-1), inside, -np.inf))

    def fit(self, x: ArrayLike, weight: ArrayLike | None = None) -> Params:
        """Mean and covariance about it: the covariance is taken after the mean, so that no digits cancel."""
        x, share = self.checked(x, weight)
        center = np.tensordot(share, x, axes=(0, 0)) / share.sum()
        moved = super().fit(x - center, share)
        return {"mean": center + moved["mean"], "cov": moved["cov"]}

    def entropy(self, params: Params) -> FloatArray:
        r""":math:`\tfrac12 \log|2 \pi e \Sigma|`."""
        log_det = np.linalg.slogdet(params["cov"])[1]
        return np.asarray(0.5 * (params["mean"].shape[-1] * (LOG_2PI + 1.0) + log_det))

    def kl(self, params: Params, other: Params) -> FloatArray:
        r"""Divergence through the eigenvalues of one covariance in the metric of the other.

        .. math:: \tfrac12\Bigl(\sum_i (\lambda_i - 1 - \log\lambda_i) + \delta^\top\Sigma'^{-1}\delta\Bigr),
            \qquad \delta = \mu - \mu' ,

        where :math:`\lambda_i` are the eigenvalues of :math:`\Sigma'^{-1}\Sigma`.
        """
        factor = cholesky_factors(other["cov"])
        whitened = np.linalg.solve(factor, params["cov"])
        whitened = np.linalg.solve(factor, np.swapaxes(whitened, -1, -2))
        values = np.maximum(np.linalg.eigvalsh(whitened), SMALLEST_VARIANCE)
        shift = np.linalg.solve(factor, (params["mean"] - other["mean"])[..., None])[..., 0]
        return np.asarray(0.5 * (relative_gap(values, 1.0).sum(axis=-1) + np.sum(shift * shift, axis=-1)))

    def sample(
        self, params: Params, rng: np.random.Generator, size: int | tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """Draw vectors."""
        mean = params["mean"]
        noise = rng.standard_normal(prepend_size(size, mean.shape))
        return np.asarray(mean + np.einsum("...de,...e->...d", cholesky_factors(params["cov"]), noise))

    def in_support(self, x: ArrayLike) -> NDArray[np.bool_]:
        """Finite or missing."""
        return is_finite(x)

    def standard(self) -> Params:
        """The standard normal distribution in two dimensions."""
        return self.parameters(np.zeros(2), np.eye(2))

    # ---- columns of a block: mean (d, K), cov (K, d, d)
    def scorer(self, params: Params) -> FullGaussianScorer | SharedGaussianScorer:
        """Squared distances through the Cholesky factors of the precisions."""
        if self.shared:
            factors, log_det = precision_factors(params["cov"][:1])
            return SharedGaussianScorer(params, factors[0], float(log_det[0]))
        return FullGaussianScorer(params)

    def tally(self, block: Block, n_classes: int, params: Params | None = None) -> FullGaussianTally:
        """Weight, mean vector and scatter matrix per class.

        A missing cell is filled with its expectation under ``params``, so a table with missing cells needs some: a
        diagonal covariance will do to begin with.
        """
        if isinstance(block, SparseBlock):
            raise InputError("The Gaussian family reads dense columns; this block is sparse. Use X.toarray().")
        return FullGaussianTally(block.n_columns, n_classes, params)

    def solve(self, statistics: Moments, prior: MomentPrior, previous: Params | None = None) -> Params:
        r""":math:`\Sigma_k = (S_k + S_0)/(w_k + \nu) + \varepsilon I`; a class without weight takes the overall one."""
        if self.needs_anchor(prior):
            prior = self.anchored(prior, statistics.pooled())
        merged = with_pseudo_rows(statistics, prior)
        scatter, weight = merged.scatter, statistics.weight[0]
        if self.shared:
            scatter, weight = scatter.sum(axis=0, keepdims=True), weight.sum(keepdims=True)
        mean = merged.mean
        own = self._own_scatter(prior, mean.shape[0])
        mass = (weight + prior.dof)[:, None, None]
        if (merged.weight > 0.0).all() and (mass > 0.0).all() and np.isfinite(mass).all():
            cov = (scatter + own) / mass
        else:
            pooled = statistics.pooled()
            mean = np.where(merged.weight > 0.0, mean, pooled.mean)
            total = float(pooled.weight[0, 0])
            overall = pooled.scatter / total if total > 0.0 else np.eye(mean.shape[0])
            with np.errstate(divide="ignore", invalid="ignore"):
                cov = np.where(mass > 0.0, (scatter + own) / mass, overall)
            cov = np.where(np.isinf(mass), own, cov)
        cov = cov + (prior.floor or 0.0) * np.eye(mean.shape[0])
        cov = 0.5 * (cov + np.swapaxes(cov, 1, 2))
        if prior.bound is not None:
            cov = np.stack([raised_covariance(matrix, prior.bound) for matrix in cov])
        return {"mean": mean, "cov": np.array(np.broadcast_to(cov, (mean.shape[1], *cov.shape[1:])))}

    def _own_scatter(self, prior: MomentPrior, n_columns: int) -> FloatArray:
        """The prior's scatter matrix, one per covariance that is free."""
        own = as_matrix(prior.scatter, n_columns)
        return own.mean(axis=0) if self.shared and own.ndim == 3 else own

    def anchored(self, prior: Any, pooled: Any) -> Any:
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
        r"""Log-density of the prior up to a constant; a shared covariance has it once.

        .. math:: -\sum_k \tfrac{\nu}{2}\log|\Sigma_k|
            + \tfrac12\mathrm{tr}\,\Sigma_k^{-1}(S_0 + \nu\varepsilon I + \kappa\delta_k\delta_k^\top)
        """
        if not (np.any(prior.dof) or np.any(prior.weight) or np.any(prior.scatter)):
            return 0.0
        free = params["cov"][: 1 if self.shared else None]
        precision = np.linalg.inv(free)
        own = self._own_scatter(prior, free.shape[1])
        dof = np.broadcast_to(prior.dof, free.shape[:1])
        finite = np.where(np.isinf(dof), 0.0, dof)
        own = own + (finite * (prior.floor or 0.0))[:, None, None] * np.eye(free.shape[1])
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
        n_columns, n_classes = (int(size) for size in params["mean"].shape)
        return n_columns * n_classes + n_columns * (n_columns + 1) // 2 * (1 if self.shared else n_classes)

    def take(self, params: Params, classes: IntArray) -> Params:
        """Parameters of the given classes, in that order."""
        return {"mean": params["mean"][..., classes], "cov": params["cov"][classes]}

    def draw(self, params: Params, codes: CodesArray, rng: np.random.Generator) -> NDArray[Any]:
        """Rows drawn from the classes ``codes``."""
        factor = cholesky_factors(params["cov"])
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


def _split(flat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First component (..., d) and second (..., d, d) of a flattened pair; the second as if symmetric."""
    d = int((np.sqrt(1.0 + 4.0 * flat.shape[-1]) - 1.0) / 2.0 + 0.5)
    matrix = flat[..., d:].reshape(*flat.shape[:-1], d, d)
    return flat[..., :d], 0.5 * (matrix + np.swapaxes(matrix, -1, -2))
