"""Where the loop starts: parameters from labels, from a uniform or random assignment, or from the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunk, Chunks
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.mixture import CLASSES, MixtureModel, MixtureParams, pooled_counts

__all__ = ["STARTS", "is_symmetric", "labeled_resp", "start_counts", "starting_params"]

STARTS = ("labeled", "uniform", "random")
#: Most rows that seed one component of a random start.
MOST_SEEDS = 20

RespOf = Callable[[Chunk], FloatArray]


def starting_params(
    kind: str, model: MixtureModel, executor: Executor, chunks: Chunks, rng: np.random.Generator
) -> tuple[MixtureParams, str]:
    """Starting parameters of the asked kind, and a note where the start had to be changed.

    ``"labeled"``: the closed form of the rows whose class is known; components that no label speaks for, and all but
    one component of a class with several, are seeded by random rows.
    ``"uniform"``: every unlabeled row is shared equally between the components. Without labels that is a saddle,
    where all components are the same and EM never moves: it is detected and left by a small random tilt.
    ``"random"``: every component is seeded by a few random rows.
    """
    note = ""
    if kind == "uniform":
        counts = start_counts(model, executor, chunks, lambda chunk: labeled_resp(model, chunk, spread=True))
        if is_symmetric(counts, model):
            note = "the uniform start was a saddle, which was left by a random tilt"
            seed = int(rng.integers(2**63))
            counts = start_counts(model, executor, chunks, lambda chunk: _tilted(model, chunk, seed))
    elif kind in ("labeled", "random"):
        counts = _seeded_counts(model, executor, chunks, rng, use_labels_alone=kind == "labeled")
    else:
        raise InputError(
            f"init is {kind!r}; choose one of {', '.join(map(repr, STARTS))}, or give responsibilities of shape "
            "(n_rows, n_classes) or a fitted estimator of the same kind."
        )
    return model.solve(counts, None), note


def start_counts(model: MixtureModel, executor: Executor, chunks: Chunks, resp_of: RespOf) -> Counts:
    """Counts under given responsibilities; incomplete rows of full Gaussians are completed from the diagonal."""
    before = _diagonal_params(model, executor, chunks)
    return executor.reduce(
        lambda lane: model.tally_given(lane, resp_of, before), chunks, counts_bytes=model.counts_bytes()
    )


def _diagonal_params(model: MixtureModel, executor: Executor, chunks: Chunks) -> MixtureParams | None:
    """Parameters with the pooled means and variances, where a family cannot count incomplete rows without any."""
    needy = [
        not family.closed_form_with_missing and getattr(block, "has_missing", False)
        for family, block in zip(model.families, chunks.blocks, strict=True)
    ]
    if not any(needy):
        return None
    counts = pooled_counts(model, executor, chunks)
    blocks = []
    for b, wanted in enumerate(needy):
        if not wanted:
            blocks.append({})
            continue
        moments: Any = counts.parts[str(b)]
        variance = moments.scatter[:, 0] / np.where(moments.weight[:, 0] > 0.0, moments.weight[:, 0], 1.0)
        variance = np.where(variance > 0.0, variance, 1.0)
        n = model.n_components
        cov = np.broadcast_to(np.diag(variance), (n, variance.size, variance.size)).copy()
        blocks.append({"mean": np.repeat(moments.mean, n, axis=1), "cov": cov})
    return MixtureParams(np.full(model.n_components, -np.log(model.n_components)), tuple(blocks))


def labeled_resp(model: MixtureModel, chunk: Chunk, *, spread: bool) -> FloatArray:
    """Responsibilities the labels alone imply; rows without labels get none, or equal shares with ``spread``."""
    n = model.n_components
    size = np.bincount(model.groups, minlength=model.n_classes)[model.groups]
    labels = chunk.labels
    if labels is None:
        return np.full((chunk.n_rows, n), 1.0 / n if spread else 0.0)
    class_share = np.full((chunk.n_rows, model.n_classes), 1.0 / model.n_classes if spread else 0.0)
    known = np.flatnonzero(labels.codes >= 0)
    class_share[known] = 0.0
    class_share[known, labels.codes[known]] = 1.0
    if labels.factors is not None and labels.factor_row is not None:
        rows = np.flatnonzero(labels.factor_row >= 0)
        factors = labels.factors[labels.factor_row[rows]]
        class_share[rows] = factors / factors.sum(axis=1, keepdims=True)
    return class_share[:, model.groups] / size


def is_symmetric(counts: Counts, model: MixtureModel) -> bool:
    """Whether all components have the same statistics, so that no iteration can tell them apart."""
    if model.n_components < 2:
        return False
    weight = counts.parts[CLASSES].arrays()["weight"]
    if np.ptp(weight) > 1e-8 * abs(float(weight[0])):
        return False
    for b in range(len(model.families)):
        part: Any = counts.parts[str(b)]
        for name, array in part.arrays().items():
            axis = 0 if name == "scatter" and array.ndim == 3 else -1
            spread = float(np.ptp(array, axis=axis).max(initial=0.0))
            if spread > 1e-8 * float(np.abs(array).max(initial=0.0)):
                return False
    return True


def _tilted(model: MixtureModel, chunk: Chunk, seed: int) -> FloatArray:
    resp = labeled_resp(model, chunk, spread=True)
    noise = np.random.default_rng([seed, chunk.index]).random(resp.shape)
    tilted = resp * (0.5 + noise)
    return np.asarray(tilted / tilted.sum(axis=1, keepdims=True))


def _seeded_counts(
    model: MixtureModel, executor: Executor, chunks: Chunks, rng: np.random.Generator, *, use_labels_alone: bool
) -> Counts:
    """The labeled rows in their classes, and a few random rows (plus a pinch of everything) in each other component."""
    n = model.n_components
    wanting = _components_without_rows(model, chunks) if use_labels_alone else np.arange(n)
    open_rows = _open_rows(model, chunks, wanting)
    seeds, per_component = _draw_seeds(model, chunks, wanting, open_rows, rng)
    pinch = np.zeros(n)
    if wanting.size:
        pinch[wanting] = per_component / max(chunks.n_rows, 1)

    def resp_of(chunk: Chunk) -> FloatArray:
        resp = labeled_resp(model, chunk, spread=False)
        if wanting.size:
            resp[:, _shares_class(model, wanting)] = 0.0
            resp += pinch
            inside = (seeds[:, 0] >= chunk.start) & (seeds[:, 0] < chunk.start + chunk.n_rows)
            rows, components = seeds[inside, 0] - chunk.start, seeds[inside, 1]
            resp[rows] = 0.0
            resp[rows, components] = 1.0
        return resp

    return start_counts(model, executor, chunks, resp_of)


def _components_without_rows(model: MixtureModel, chunks: Chunks) -> IntArray:
    """Components that a random seed has to start: those of unlabeled classes and of classes with several components."""
    support = np.zeros(model.n_classes) if chunks.labels is None else chunks.labels.class_support()
    size = np.bincount(model.groups, minlength=model.n_classes)
    return np.flatnonzero((support[model.groups] <= 0.0) | (size[model.groups] > 1))


def _shares_class(model: MixtureModel, wanting: IntArray) -> IntArray:
    """Wanting components whose class has several: their labeled rows are dealt out through the seeds."""
    size = np.bincount(model.groups, minlength=model.n_classes)
    return wanting[size[model.groups[wanting]] > 1]


def _open_rows(model: MixtureModel, chunks: Chunks, wanting: IntArray) -> dict[int, IntArray]:
    """Rows that may seed each wanting component: its class's labeled rows if there are any, else the unlabeled ones."""
    weight = chunks.weight
    usable = np.ones(chunks.n_rows, dtype=bool) if weight is None else weight > 0.0
    labels = chunks.labels
    if labels is None:
        rows = np.flatnonzero(usable)
        return {int(m): rows for m in wanting}
    unlabeled = np.flatnonzero(labels.is_unlabeled() & usable)
    result = {}
    for m in wanting:
        own = np.flatnonzero((labels.codes == model.groups[m]) & usable)
        result[int(m)] = own if own.size else unlabeled
    return result


def _draw_seeds(
    model: MixtureModel,
    chunks: Chunks,
    wanting: IntArray,
    open_rows: dict[int, IntArray],
    rng: np.random.Generator,
) -> tuple[IntArray, int]:
    per_component = int(np.clip(round(np.sqrt(chunks.n_rows / max(wanting.size, 1)) / 4.0), 1, MOST_SEEDS))
    taken: set[int] = set()
    seeds: list[tuple[int, int]] = []
    for m in rng.permutation(wanting):
        rows = open_rows[int(m)]
        if rows.size == 0:
            continue
        chosen = rng.choice(rows, size=min(4 * per_component + len(taken), rows.size), replace=False)
        fresh = [int(r) for r in chosen if int(r) not in taken][:per_component]
        taken.update(fresh)
        seeds.extend((row, int(m)) for row in fresh)
    return np.array(seeds, dtype=np.int64).reshape(-1, 2), per_component


def params_from_resp(
    model: MixtureModel, executor: Executor, chunks: Chunks, resp: FloatArray
) -> MixtureParams:
    """Parameters that given responsibilities of shape (n_rows, n_components) imply; labels win over them."""

    def resp_of(chunk: Chunk) -> FloatArray:
        rows = np.array(resp[chunk.start : chunk.start + chunk.n_rows], dtype=np.float64)
        if chunk.labels is not None:
            known = np.flatnonzero(~chunk.labels.is_unlabeled())
            implied = labeled_resp(model, chunk, spread=False)[known]
            inside = rows[known] * (implied > 0.0)
            total = inside.sum(axis=1, keepdims=True)
            rows[known] = np.where(total > 0.0, inside / np.where(total > 0.0, total, 1.0), implied)
        return rows

    return model.solve(start_counts(model, executor, chunks, resp_of), None)

