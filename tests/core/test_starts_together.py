"""Starts that run side by side: each ends where it would alone, and one that fails takes none with it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from softcount._errors import InputError
from softcount.core import start_work
from softcount.core.chunks import Chunks
from softcount.core.execute import ThreadExecutor
from softcount.core.iterate import Fit, Stopping, iterate
from softcount.core.membership import Membership
from softcount.core.mixture import MixtureModel, MixtureParams, pooled_counts
from softcount.core.search import Effort, Found, search
from softcount.core.start import params_from_resp, softened
from softcount.core.starts_together import iterate_together, starts_together
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.families.categorical import Categorical
from softcount.families.columns import PseudoCounts
from softcount.families.gamma import Gamma
from softcount.families.gaussian import Gaussian, MomentPrior
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.multinomial import Multinomial
from softcount.families.poisson import Poisson
from softcount.inputs.labels import Labels

N_ROWS, N_CLASSES = 120, 3
EXECUTOR = ThreadExecutor(1)
FAMILIES = (
    "codes", "codes with gaps", "words", "sparse words", "yes and no", "yes and no with gaps", "counts", "numbers",
    "numbers with gaps", "spheres", "codes and numbers",
)  # fmt: skip


def block_of(case: str, rng: np.random.Generator, smooth: float) -> list[tuple[Any, Any, Block]]:
    """Families, priors and rows of three groups."""
    truth = rng.integers(N_CLASSES, size=N_ROWS)
    counts = rng.poisson(1.0 + 2.0 * (truth[:, None] == np.arange(6) % N_CLASSES)).astype(float)
    numbers = rng.normal(2.0 * truth[:, None], 1.0, (N_ROWS, 3))
    codes = np.clip(truth[:, None] + rng.integers(-1, 2, (N_ROWS, 5)), 0, 2).astype(np.int8)
    gaps = rng.random((N_ROWS, 6)) < 0.15
    few = PseudoCounts(np.asarray(smooth))
    if case == "codes and numbers":
        return block_of("codes with gaps", rng, smooth) + block_of("numbers", rng, smooth)
    if case.startswith("codes"):
        codes[gaps[:, :5] & ("gaps" in case)] = -1
        return [(Categorical((3,) * 5), few, CodesBlock(codes, np.arange(0, 16, 3)))]
    if case == "sparse words":
        sparse = csr_array(counts)
        return [(Multinomial(), few, SparseBlock(sparse.indptr, sparse.indices, sparse.data, 6))]
    if case == "words":
        return [(Multinomial(), few, DenseBlock(counts))]
    if case == "counts":
        return [(Poisson(), few, DenseBlock(counts))]
    if case.startswith("yes and no"):
        ones = np.where(gaps & ("gaps" in case), np.nan, (counts > 1.0).astype(float))
        return [(Bernoulli(), few, DenseBlock(ones, has_missing="gaps" in case))]
    prior = MomentPrior(weight=smooth, dof=smooth, scatter=np.asarray(smooth), mean=np.asarray(0.5))
    if "gaps" in case:
        numbers = np.where(gaps[:, :3], np.nan, numbers)
    return [(Gaussian(spherical=case == "spheres"), prior, DenseBlock(numbers, has_missing="gaps" in case))]


def problem(
    case: str, *, seed: int = 0, smooth: float = 0.0, weighted: bool = False, labeled: int = 0, **settings: Any
) -> tuple[MixtureModel, Chunks]:
    rng = np.random.default_rng(seed)
    families, priors, blocks = zip(*block_of(case, rng, smooth), strict=True)
    weight = rng.integers(0, 3, N_ROWS).astype(float) if weighted else None
    codes = np.where(np.arange(N_ROWS) < labeled, rng.integers(N_CLASSES, size=N_ROWS), -1).astype(np.int32)
    labels = Labels(codes, N_CLASSES) if labeled else None
    chunks = Chunks(blocks, labels, weight, rows_per_chunk=1024)
    model = MixtureModel(families, priors, np.arange(N_CLASSES), N_CLASSES, **settings)
    return model.anchored(EXECUTOR, chunks), chunks


def random_start(model: MixtureModel, chunks: Chunks, seed: int) -> MixtureParams:
    resp = np.random.default_rng(seed).dirichlet(np.ones(N_CLASSES), N_ROWS)
    return params_from_resp(softened(model), EXECUTOR, chunks, resp)


def assert_same_fit(found: Fit[MixtureParams], alone: Fit[MixtureParams]) -> None:
    assert (found.n_iter, found.converged, found.interrupted) == (alone.n_iter, alone.converged, alone.interrupted)
    np.testing.assert_array_equal(
        [step.objective for step in found.history], [step.objective for step in alone.history], strict=True
    )
    np.testing.assert_array_equal(found.params.log_weights, alone.params.log_weights, strict=True)
    for ours, theirs in zip(found.params.blocks, alone.params.blocks, strict=True):
        for name, array in theirs.items():
            np.testing.assert_array_equal(ours[name], array, strict=True)
    own, of_alone = found.counts.arrays(), alone.counts.arrays()
    assert own.keys() == of_alone.keys()
    for name, array in of_alone.items():
        np.testing.assert_array_equal(own[name], array, strict=True)
    assert found.counts.objective == alone.counts.objective or np.isnan(alone.counts.objective)


@pytest.mark.parametrize("case", FAMILIES)
@given(
    seed=st.integers(0, 2**16),
    smooth=st.sampled_from([0.0, 0.7]),
    weighted=st.booleans(),
    labeled=st.sampled_from([0, 12]),
    accelerate=st.booleans(),
    share=st.sampled_from([1.0, 0.5]),
    class_alpha=st.sampled_from([0.0, 1.5]),
)
def test_every_start_ends_where_it_ends_alone(
    case: str,
    *,
    seed: int,
    smooth: float,
    weighted: bool,
    labeled: int,
    accelerate: bool,
    share: float,
    class_alpha: float,
) -> None:
    model, chunks = problem(
        case,
        seed=seed,
        smooth=smooth,
        weighted=weighted,
        labeled=labeled,
        unlabeled_weight=share if labeled else 1.0,
        class_alpha=class_alpha,
    )
    assert starts_together(model, chunks, 4) == 4
    starts = [random_start(model, chunks, seed + i) for i in range(4)]
    stopping = [Stopping(10, 0.0)] * 4
    together = iterate_together(model, EXECUTOR, chunks, starts, stopping, accelerate=accelerate)
    for start, found in zip(starts, together, strict=True):
        assert_same_fit(found, iterate(model, EXECUTOR, chunks, start, stopping[0], accelerate=accelerate))


@pytest.mark.parametrize("accelerate", [False, True])
def test_each_start_stops_when_it_would_alone(accelerate: bool) -> None:
    model, chunks = problem("codes with gaps", smooth=0.5)
    starts = [random_start(model, chunks, i) for i in range(6)]
    stopping = [Stopping(200, 1e-6)] * 4 + [Stopping(3, 1e-6), Stopping(0, 1e-6)]
    together = iterate_together(model, EXECUTOR, chunks, starts, stopping, accelerate=accelerate)
    assert len({fit.n_iter for fit in together}) > 2
    for start, limit, found in zip(starts, stopping, together, strict=True):
        assert_same_fit(found, iterate(model, EXECUTOR, chunks, start, limit, accelerate=accelerate))


def test_given_class_probabilities_stay() -> None:
    model, chunks = problem("words", smooth=1.0, class_prior=np.array([0.5, 0.3, 0.2]))
    starts = [random_start(model, chunks, i) for i in range(3)]
    for fit in iterate_together(model, EXECUTOR, chunks, starts, [Stopping(4, 0.0)] * 3):
        np.testing.assert_allclose(np.exp(fit.params.log_weights), [0.5, 0.3, 0.2])


def test_an_end_keeps_no_tables_of_the_others() -> None:
    model, chunks = problem("codes and numbers")
    starts = [random_start(model, chunks, i) for i in range(5)]
    fit = iterate_together(model, EXECUTOR, chunks, starts, [Stopping(4, 0.0)] * 5)[2]
    arrays = [fit.params.log_weights, *fit.counts.arrays().values()]
    arrays += [array for block in fit.params.blocks for array in block.values()]
    for array in arrays:
        base = array if array.base is None else array.base
        assert base.nbytes == array.nbytes


def test_a_row_that_only_one_start_calls_impossible_is_lost_to_that_start_alone() -> None:
    codes = np.array([[0], [0], [1], [1]], dtype=np.int8)
    family = Categorical((2,))
    model = MixtureModel((family,), (PseudoCounts(np.asarray(0.0)),), np.arange(2), 2)
    chunks = Chunks((CodesBlock(codes, family.offsets),), None, None, rows_per_chunk=16)

    def start(*shares: float) -> MixtureParams:
        with np.errstate(divide="ignore"):
            return model.make_params(np.log([0.5, 0.5]), ({"log_prob": np.log([shares, 1.0 - np.array(shares)])},))

    starts = [start(0.2, 0.6), start(1.0, 1.0), start(0.5, 0.9)]
    together = iterate_together(model, EXECUTOR, chunks, starts, [Stopping(2, 0.0)] * 3)
    assert [np.isfinite(fit.history[0].objective) for fit in together] == [True, False, True]
    for begun, found in zip(starts, together, strict=True):
        assert_same_fit(found, iterate(model, EXECUTOR, chunks, begun, Stopping(2, 0.0)))


def test_ctrl_c_keeps_the_last_iteration_of_every_start() -> None:
    model, chunks = problem("codes")
    starts = [random_start(model, chunks, i) for i in range(3)]
    passes = []

    def on_pass(step: Any, params: Any) -> None:
        passes.append(step)
        if len(passes) == 3:
            raise KeyboardInterrupt

    fits = iterate_together(
        model, EXECUTOR, chunks, starts, [Stopping(9, 0.0), Stopping(1, 0.0), Stopping(9, 0.0)], on_pass=on_pass
    )
    assert [(fit.n_iter, fit.interrupted) for fit in fits] == [(3, True), (1, False), (3, True)]


# ---- the search
def found_by(ways: Any, model: MixtureModel, chunks: Chunks, effort: Effort, threads: int = 1, **more: Any) -> Found:
    return search(model, ThreadExecutor(threads), chunks, ways, effort, **more)


@pytest.mark.parametrize(
    "effort",
    [
        Effort(Stopping(60, 1e-7)),
        Effort(Stopping(60, 1e-7), accelerate=True, n_final=3, confirm=True),
        Effort(Stopping(8, 0.0), n_final=4),
    ],
    ids=["all to the end", "the best to the end", "as many iterations"],
)
def test_a_search_finds_the_same_side_by_side(effort: Effort, monkeypatch: pytest.MonkeyPatch) -> None:
    model, chunks = problem("codes with gaps", smooth=0.3)
    starts = [partial(lambda seed: (random_start(model, chunks, seed), ""), seed) for seed in range(12)]

    def fail() -> tuple[MixtureParams, str]:
        raise InputError("this start cannot be used")

    starts[5] = fail
    together = [found_by(starts, model, chunks, effort, threads) for threads in (1, 3)]
    monkeypatch.setattr(start_work, "starts_together", lambda *_: 1)
    alone = found_by(starts, model, chunks, effort)
    for found in together:
        assert found.notes == alone.notes
        assert "1 of 12 starts failed" in found.notes[-1]
        assert found.objectives == alone.objectives
        assert_same_fit(found.best, alone.best)
    assert together[0].objectives == together[1].objectives


def test_a_start_that_fails_on_the_way_takes_none_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model, chunks = problem("words")
    sound = [random_start(model, chunks, seed) for seed in range(3)]
    bad = replace(sound[0], log_weights=np.full(N_CLASSES, 7.0))
    solve = MixtureModel.solve

    def picky(self: MixtureModel, counts: Any, previous: Any = None) -> MixtureParams:
        if np.any(counts.parts["classes"]["weight"] > 1e5):
            raise np.linalg.LinAlgError("singular")
        return solve(self, counts, previous)

    monkeypatch.setattr(MixtureModel, "solve", picky)
    real = MixtureModel.tally

    def heavy(self: Any, params: MixtureParams, chunks: Any) -> Any:
        counts = real(self, params, chunks)
        return counts.scaled(1e6) if np.any(params.log_weights == 7.0) else counts

    monkeypatch.setattr(MixtureModel, "tally", heavy)
    starts = [lambda params=params: (params, "") for params in (sound[0], bad, *sound[1:])]
    found = found_by(starts, model, chunks, Effort(Stopping(5, 0.0)))
    assert np.isfinite(found.objectives).sum() == 3
    assert any("1 of 4 starts failed and were left out (last: singular)" in note for note in found.notes)


def test_whoever_looks_at_steps_gets_one_run_at_a_time_and_a_journal_gets_the_group() -> None:
    model, chunks = problem("codes")
    starts = [partial(lambda seed: (random_start(model, chunks, seed), ""), seed) for seed in range(3)]
    steps: list[int] = []
    found_by(starts, model, chunks, Effort(Stopping(4, 0.0)), on_step=lambda step, params: steps.append(step.iteration))
    assert steps == [1, 2, 3, 4] * 3
    kept: list[str] = []

    class Noted:
        """A journal that notes its places."""

        advice = ""

        def __init__(self, place: str = "") -> None:
            self.place = place

        def part(self, name: str) -> Noted:
            return Noted(f"{self.place}/{name}")

        def recall(self) -> None:
            return None

        def keep(self, record: Any, *, finished: bool, now: bool = False) -> None:
            if finished:
                kept.append(self.place)

        def bind(self, digest: Any) -> None:
            return None

    found_by(starts, model, chunks, Effort(Stopping(4, 0.0)), journal=Noted())
    assert kept == ["/start 0", "/start 1", "/start 2", "/start 0/whole together"]


def test_what_starts_have_in_common_or_is_large_goes_alone() -> None:
    numbers = DenseBlock(np.random.default_rng(0).normal(size=(N_ROWS, 3)))
    one = PseudoCounts(np.asarray(1.0))

    def together(family: Any, prior: Any, block: Any = numbers, labels: Any = None, **settings: Any) -> int:
        groups = np.arange(settings.pop("n_components", N_CLASSES)) % N_CLASSES
        model = MixtureModel((family,), (prior,), groups, N_CLASSES, **settings)
        chunks = Chunks((block,), labels, None, rows_per_chunk=settings.pop("rows_per_chunk", 1024))
        model = model if isinstance(family, Membership) else model.anchored(EXECUTOR, chunks)
        return starts_together(model, chunks, 10)

    counts = DenseBlock(np.ones((N_ROWS, 3)))
    assert together(Gaussian(), MomentPrior()) == 10
    assert together(Gaussian(shared=True), MomentPrior()) == 1
    assert together(MultivariateGaussian(), MomentPrior()) == 1
    assert together(Gamma(), one, DenseBlock(np.exp(numbers.values))) == 1
    assert together(Membership(), one, counts) == 1
    assert together(Multinomial(), one, counts) == 10
    assert together(Multinomial(), one, counts, n_components=6) == 1
    assert together(Multinomial(), one, counts, temperature=2.0) == 1
    row = np.where(np.arange(N_ROWS) == 30, 0, -1).astype(np.int32)
    sets = Labels(np.full(N_ROWS, -1, dtype=np.int32), N_CLASSES, np.array([[1.0, 1.0, 0.0]]), row)
    assert together(Multinomial(), one, counts, sets) == 1
    many = DenseBlock(np.ones((50_000, 8)))
    assert together(Multinomial(), one, many) == 1


def test_groups_have_one_size_and_do_not_outgrow_the_cache() -> None:
    model, chunks = problem("codes")
    assert starts_together(model, chunks, 3) == 3
    sizes = [starts_together(model, chunks, n) for n in (50, 100, 1000)]
    assert max(sizes) * N_CLASSES <= 160
    # Two groups, so that two threads have something to do.
    assert sizes[0] == 25


def test_pooled_counts_of_all_classes_are_those_of_one() -> None:
    model, chunks = problem("numbers with gaps", weighted=True)
    start = random_start(model, chunks, 0)
    part: Any = model.tally(start, list(chunks)).parts["0"]
    whole: Any = pooled_counts(model, EXECUTOR, chunks).parts["0"]
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(part.pooled().arrays()[name], array, rtol=1e-9)
