"""Where a Gaussian mixture starts: as scikit-learn does, and from what the user gave."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.utils import check_random_state

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.blas_threads import single_threaded_openmp
from softcount.core.chunks import Chunks, Rows
from softcount.core.execute import Executor, resolve_n_jobs
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.patterns import Patterns, find_patterns
from softcount.core.sampling import fetch
from softcount.core.start import params_from_resp
from softcount.families.gaussian_full import MultivariateGaussian

__all__ = ["adjusted", "given_parameters", "rows_to_start_from", "scikit_learn_starts"]

#: Rows that are fetched into memory to start from them as scikit-learn does.
MOST_FETCHED = 2**14

StartOf = Callable[[MixtureModel, Executor, Chunks], MixtureParams]


def rows_to_start_from(executor: Executor, rows: Rows) -> Chunks | None:
    """All rows in memory, or None where they are not there and too many to be fetched."""
    if isinstance(rows, Chunks):
        return rows
    if rows.n_rows > MOST_FETCHED:
        return None
    return fetch(executor, rows)


def scikit_learn_starts(
    kind: str, chunks: Chunks, n_components: int, n_init: int, random_state: Any, *, n_jobs: int | None
) -> list[StartOf] | None:
    """The starts that scikit-learn makes from this seed, or None where it makes none.

    That is for rows with labels or missing cells, which it does not know. Rows with weights and repeated rows are
    clustered as the distinct rows with their total weight, for a start drawn row by row would make a weight of two
    something else than two rows; the other kinds of start are then the core's. What is one chunk to us is one thread's
    work to k-means.
    """
    block: Any = chunks.blocks[0]
    if isinstance(random_state, np.random.Generator) or chunks.labels is not None or block.has_missing:
        return None
    rng = check_random_state(random_state)
    patterns = find_patterns(chunks)
    alone = min(resolve_n_jobs(n_jobs), len(chunks)) == 1
    with single_threaded_openmp() if alone else nullcontext():
        return _starts(kind, chunks, patterns, n_components, n_init, rng=rng)


def _starts(
    kind: str, chunks: Chunks, patterns: Patterns, n_components: int, n_init: int, *, rng: Any
) -> list[StartOf] | None:
    block: Any = chunks.blocks[0]
    if chunks.weight is not None or patterns.n_patterns < chunks.n_rows:
        if kind != "kmeans" or patterns.n_patterns < n_components:
            return None
        distinct = block.values[patterns.rows]
        fits = [
            KMeans(n_components, n_init=1, random_state=rng).fit(distinct, None, patterns.weight) for _ in range(n_init)
        ]
        return [partial(_from_resp, fit.predict(block.values)) for fit in fits]
    # One after the other, for each draw moves the stream on; the runs themselves draw nothing.
    return [partial(_from_resp, _responsibilities(kind, block.values, n_components, rng)) for _ in range(n_init)]


def _responsibilities(kind: str, X: NDArray[Any], n_components: int, rng: Any) -> NDArray[Any]:
    """A component for each row, or responsibilities."""
    n_rows = X.shape[0]
    if kind == "kmeans":
        labels: NDArray[Any] = KMeans(n_clusters=n_components, n_init=1, random_state=rng).fit(X).labels_
        return labels
    if kind == "random":
        resp: NDArray[Any] = rng.uniform(size=(n_rows, n_components))
        return np.asarray(resp / resp.sum(axis=1, keepdims=True))
    if kind == "k-means++":
        rows = kmeans_plusplus(X, n_components, random_state=rng)[1]
    else:
        rows = rng.choice(n_rows, size=n_components, replace=False)
    labels = np.full(n_rows, -1)
    labels[rows] = np.arange(n_components)
    return labels


def _from_resp(given: NDArray[Any], model: MixtureModel, executor: Executor, chunks: Chunks) -> MixtureParams:
    if given.ndim == 2:
        return params_from_resp(model, executor, chunks, given)
    resp = np.zeros((given.shape[0], model.n_components))
    rows = np.flatnonzero(given >= 0)
    resp[rows, given[rows]] = 1.0
    params = params_from_resp(model, executor, chunks, resp)
    family = model.families[0]
    if rows.size < given.shape[0] and isinstance(family, MultivariateGaussian) and family.shared:
        return _with_wide_covariance(params, model, chunks)
    return params


def _with_wide_covariance(params: MixtureParams, model: MixtureModel, chunks: Chunks) -> MixtureParams:
    """A start from single rows with the covariance scikit-learn gives it, which holds the products of all rows."""
    block: Any = chunks.blocks[0]
    X = np.asarray(block.values, dtype=np.float64)
    mean = params.blocks[0]["mean"]
    cov = (X.T @ X - mean @ mean.T) / model.n_components + model.priors[0].floor * np.eye(X.shape[1])
    wide = np.broadcast_to(cov, params.blocks[0]["cov"].shape).copy()
    return model.make_params(params.log_weights, ({"mean": mean, "cov": wide},))


def given_parameters(covariance_type: str) -> StartOf:
    """A start that holds nothing of its own, for :func:`adjusted` to fill."""

    def start(model: MixtureModel, executor: Executor, chunks: Chunks) -> MixtureParams:
        n_columns, n = chunks.blocks[0].n_columns, model.n_components
        ones = np.ones((n_columns, n))
        block = {"mean": ones, "var": ones}
        if covariance_type in ("full", "tied"):
            block = {"mean": ones, "cov": np.broadcast_to(np.eye(n_columns), (n, n_columns, n_columns)).copy()}
        return MixtureParams(np.full(n, -np.log(n)), (block,))

    return start


def adjusted(
    model: MixtureModel,
    params: MixtureParams,
    covariance_type: str,
    *,
    weights: Any,
    means: Any,
    precisions: Any,
) -> MixtureParams:
    """A start with the weights, means and precisions the user gave in place of its own."""
    if weights is None and means is None and precisions is None:
        return params
    block, n = dict(params.blocks[0]), model.n_components
    n_columns = block["mean"].shape[0]
    log_weights = params.log_weights
    if weights is not None:
        given = _array("weights_init", weights, (n,))
        if (given < 0.0).any() or not np.isclose(given.sum(), 1.0):
            raise InputError(
                f"weights_init is {given.tolist()}; weights are 0 or more, and their sum should be normalized."
            )
        with np.errstate(divide="ignore"):
            log_weights = np.log(given)
    if means is not None:
        block["mean"] = _array("means_init", means, (n, n_columns)).T.copy()
    if precisions is not None:
        block.update(_covariances(precisions, covariance_type, n, n_columns))
    return model.make_params(log_weights, (block,))


def _array(name: str, value: Any, shape: tuple[int, ...]) -> FloatArray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise InputError(
            f"The parameter {name} has the shape {array.shape}; it should have the shape of {shape}, all finite."
        )
    return array


def _covariances(precisions: Any, covariance_type: str, n: int, n_columns: int) -> dict[str, FloatArray]:
    shapes = {
        "full": (n, n_columns, n_columns),
        "tied": (n_columns, n_columns),
        "diag": (n, n_columns),
        "spherical": (n,),
    }
    given = _array("precisions_init", precisions, shapes[covariance_type])
    if covariance_type in ("diag", "spherical"):
        if (given <= 0.0).any():
            raise InputError(f"precisions_init holds {given.min()}; '{covariance_type} precision' should be positive.")
        var = 1.0 / given
        return {"var": var.T.copy() if given.ndim == 2 else np.broadcast_to(var, (n_columns, n)).copy()}
    symmetric = np.allclose(given, np.swapaxes(given, -1, -2))
    if not symmetric or (np.linalg.eigvalsh(given) <= 0.0).any():
        raise InputError(f"precisions_init: '{covariance_type} precision' should be symmetric, positive-definite.")
    cov = np.linalg.inv(given)
    return {"cov": np.broadcast_to(cov, (n, n_columns, n_columns)).copy()}
