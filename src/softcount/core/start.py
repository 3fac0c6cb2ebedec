"""Where the loop starts: parameters from labels, from seeds, from a uniform or random assignment, or from the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray, IntArray
from softcount.core.chunks import Chunk, Chunks, Rows
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.mixture import CLASSES, MixtureModel, MixtureParams, pooled_counts
from softcount.core.patterns import draw_salt, some_rows
from softcount.core.sampling import Wanted, draw_rows
from softcount.core.seeding import at_rows, averages, coordinates, lloyd, nearest, row_width, spread_seeds
from softcount.families.columns import PseudoCounts
from softcount.inputs.labels import Labels

__all__ = [
    "SEEDED_STARTS",
    "STARTS",
    "VARIED",
    "check_start",
    "is_symmetric",
    "labeled_resp",
    "start_counts",
    "starting_params",
]

STARTS = ("labeled", "uniform", "random")
#: Starts of models with one component per class; the rows they look at are few however many there are.
SEEDED_STARTS = ("k-means++", "kmeans", "random_from_data", "responsibilities")
#: Starts of several kinds in turn.
VARIED = "varied"
#: Most rows that seed one component of a random start.
MOST_SEEDS = 20
#: Numbers that the rows of a seeded start may hold, and rows that random responsibilities are drawn for.
SEEDING_NUMBERS = 2**22
MOST_SEEDING_ROWS = 20_000
RESPONSIBLE_ROWS = 2_000
#: Share of every row that is spread over all components, and pseudo-observations that keep a value which the seeding
#: rows of a component lack from being called impossible.
PINCH = 0.1
PSEUDO = 0.1

RespOf = Callable[[Chunk], FloatArray]


def starting_params(
    kind: str, model: MixtureModel, executor: Executor, chunks: Rows, rng: np.random.Generator
) -> tuple[MixtureParams, str]:
    """Starting parameters of the asked kind, and a note where the start had to be changed.

    ``"labeled"``: the closed form of the rows whose class is known; components that no label speaks for, and all but
    one component of a class with several, are seeded by random rows.
    ``"uniform"``: every unlabeled row is shared equally between the components. Without labels that is a saddle,
    where all components are the same and EM never moves: it is detected and left by a small random tilt.
    ``"random"``: every component is seeded by a few random rows.
    ``"k-means++"``, ``"random_from_data"``: rows go to the closest of seeds that lie far apart, or of random ones.
    ``"kmeans"``: the same with the seeds moved to the mean of their rows until they stay.
    ``"responsibilities"``: random responsibilities, even over all possible ones.
    """
    note = ""
    if kind in SEEDED_STARTS:
        return _from_seeds(kind, model, executor, chunks, rng), note
    if kind == "uniform":
        counts = start_counts(model, executor, chunks, lambda chunk: labeled_resp(model, chunk, spread=True))
        if is_symmetric(counts, model):
            note = "the uniform start was a saddle, which was left by a random tilt"
            seed = int(rng.integers(2**63))
            counts = start_counts(model, executor, chunks, lambda chunk: _tilted(model, chunk, seed))
    else:
        counts = _seeded_counts(model, executor, chunks, rng, use_labels_alone=kind == "labeled")
    return model.solve(counts, None), note


def check_start(kind: str) -> None:
    """Refuse a kind of start that there is not, also where complete labels leave nothing to start."""
    if kind not in (*STARTS, *SEEDED_STARTS, VARIED):
        raise InputError(
            f"init is {kind!r}; choose one of {', '.join(map(repr, STARTS + SEEDED_STARTS))}, or give responsibilities "
            "of shape (n_rows, n_components) or a fitted estimator of the same kind."
        )


def start_counts(model: MixtureModel, executor: Executor, chunks: Rows, resp_of: RespOf) -> Counts:
    """Counts under given responsibilities; incomplete rows of full Gaussians are completed from the diagonal."""
    before = _diagonal_params(model, executor, chunks)
    return executor.reduce(
        lambda lane: model.tally_given(lane, resp_of, before), chunks, counts_bytes=model.counts_bytes()
    )


def _diagonal_params(model: MixtureModel, executor: Executor, chunks: Rows) -> MixtureParams | None:
    """Parameters with the pooled means and variances, where a family cannot count incomplete rows without any."""
    needy = [
        not family.counts_incomplete_rows and getattr(block, "has_missing", False)
        for family, block in zip(model.families, chunks.layout, strict=True)
    ]
    if not any(needy):
        return None
    counts = pooled_counts(model, executor, chunks)
    blocks: list[Any] = []
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
    # One component for each class, in their order: nothing to deal out, and no second table of the chunk.
    if model.n_components == model.n_classes and np.array_equal(model.groups, np.arange(n)):
        return class_share
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
    model: MixtureModel,
    executor: Executor,
    chunks: Rows,
    rng: np.random.Generator,
    *,
    use_labels_alone: bool,
) -> Counts:
    """The labeled rows in their classes, and a few random rows (plus a pinch of everything) in each other component."""
    n = model.n_components
    wanting = _components_without_rows(model, chunks) if use_labels_alone else np.arange(n)
    seeds, per_component = _draw_seeds(model, executor, chunks, wanting, rng)
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


def _components_without_rows(model: MixtureModel, chunks: Rows) -> IntArray:
    """Components that a random seed has to start: those of unlabeled classes and of classes with several components."""
    support = chunks.class_support(model.n_classes)
    size = np.bincount(model.groups, minlength=model.n_classes)
    return np.flatnonzero((support[model.groups] <= 0.0) | (size[model.groups] > 1))


def _shares_class(model: MixtureModel, wanting: IntArray) -> IntArray:
    """Wanting components whose class has several: their labeled rows are dealt out through the seeds."""
    size = np.bincount(model.groups, minlength=model.n_classes)
    return wanting[size[model.groups[wanting]] > 1]


def _seeding_rows(model: MixtureModel, chunks: Rows, component: int) -> Callable[[Chunk], BoolArray]:
    """Rows that may seed a component: its class's labeled rows if there are any, else those without a label."""
    code = int(model.groups[component])
    labeled = chunks.facts.labeled
    if labeled is None:
        return lambda chunk: np.ones(chunk.n_rows, dtype=bool)
    if labeled[code]:
        return lambda chunk: np.asarray(_labels_of(chunk).codes == code)
    return lambda chunk: _labels_of(chunk).is_unlabeled()


def _labels_of(chunk: Chunk) -> Labels:
    assert chunk.labels is not None
    return chunk.labels


def _draw_seeds(
    model: MixtureModel, executor: Executor, chunks: Rows, wanting: IntArray, rng: np.random.Generator
) -> tuple[IntArray, int]:
    """Pairs of a row and the component it seeds, no row twice; and how many rows a component has."""
    per_component = int(np.clip(round(np.sqrt(chunks.n_rows / max(wanting.size, 1)) / 4.0), 1, MOST_SEEDS))
    if not wanting.size:
        return np.empty((0, 2), dtype=np.int64), per_component
    # As many as there have to be for some to be left when the other components have taken theirs.
    limit = per_component * int(wanting.size)
    wanted = {int(m): Wanted(_seeding_rows(model, chunks, int(m)), draw_salt(rng), limit) for m in wanting}
    draws = draw_rows(executor, chunks, wanted)
    taken: set[int] = set()
    seeds: list[tuple[int, int]] = []
    for m in rng.permutation(wanting):
        fresh = [int(row) for row in draws[int(m)].row if int(row) not in taken][:per_component]
        taken.update(fresh)
        seeds.extend((row, int(m)) for row in fresh)
    return np.array(seeds, dtype=np.int64).reshape(-1, 2), per_component


def params_from_resp(model: MixtureModel, executor: Executor, chunks: Rows, resp: FloatArray) -> MixtureParams:
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


# ---- seeds
def _from_seeds(
    kind: str, model: MixtureModel, executor: Executor, chunks: Rows, rng: np.random.Generator
) -> MixtureParams:
    """Labeled rows in their classes, the others with the closest seed (or at random)."""
    if not model.has_single_components:
        raise InputError(
            f"init={kind!r} needs one component per class. With n_components_per_class above 1 use 'labeled' or "
            "'random'."
        )
    most = RESPONSIBLE_ROWS if kind == "responsibilities" else MOST_SEEDING_ROWS
    assert isinstance(chunks, Chunks)  # a sample of the rows, wherever the others are
    few = some_rows(chunks, max(256, min(most, SEEDING_NUMBERS // row_width(chunks))), rng)
    n = model.n_components
    if kind == "responsibilities":
        resp = rng.dirichlet(np.ones(n), few.n_rows)
    else:
        resp = np.full((few.n_rows, n), PINCH / n)
        resp[np.arange(few.n_rows), _assignment(kind, model, few, rng)] += 1.0 - PINCH
    return params_from_resp(softened(model), executor, few, resp)


def _assignment(kind: str, model: MixtureModel, chunks: Chunks, rng: np.random.Generator) -> IntArray:
    """The component of every row's closest seed; components with labels are seeded by the mean of their rows."""
    weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight
    places = coordinates(model, chunks)
    wanting = _components_without_rows(model, chunks)
    is_started = np.ones(model.n_components, dtype=bool)
    is_started[wanting] = False
    started = np.flatnonzero(is_started)
    open_weight, taken = weight, None
    if started.size:
        assert chunks.labels is not None
        own = np.concatenate([labeled_resp(model, chunk, spread=False) for chunk in chunks]) * weight[:, None]
        taken = averages(places, own[:, started])
        unlabeled = chunks.labels.is_unlabeled()
        open_weight = np.where(unlabeled, weight, 0.0) if (unlabeled & (weight > 0.0)).any() else weight
    if kind == "random_from_data":
        usable = np.flatnonzero(open_weight > 0.0)
        size = min(wanting.size, usable.size)
        chance = open_weight[usable] / open_weight.sum()
        seeds = rng.choice(usable, size=size, replace=False, p=chance)
    else:
        seeds = spread_seeds(places, open_weight, wanting.size, rng, taken)
    centers = at_rows(places, seeds)
    if taken is not None:
        centers = [np.concatenate(pair) for pair in zip(taken, centers, strict=True)]
    if kind == "kmeans":
        centers = lloyd(places, weight, centers, n_fixed=started.size)
    return np.concatenate([started, wanting])[nearest(places, centers)]


def softened(model: MixtureModel) -> MixtureModel:
    """The model with at least a few pseudo-observations of everything, so that a start calls nothing impossible."""

    def soft(prior: Any) -> Any:
        if not isinstance(prior, PseudoCounts):
            return prior
        other = None if prior.other is None else np.maximum(prior.other, PSEUDO)
        return replace(prior, alpha=np.maximum(prior.alpha, PSEUDO), other=other)

    return replace(model, priors=tuple(soft(prior) for prior in model.priors))
