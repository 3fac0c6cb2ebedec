"""Runs of EM side by side: each is what it would be alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from softcount.core.candidates import passes_of_em
from softcount.core.chunks import Chunks
from softcount.core.execute import ThreadExecutor
from softcount.core.mixture import MixtureModel, MixtureParams, pooled_counts
from softcount.core.side_by_side import LeftOut, SideBySide, runs_at_once
from softcount.core.start import labeled_resp, start_counts
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

N_ROWS, N_CLASSES = 90, 3
EXECUTOR = ThreadExecutor(1)
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(N_CLASSES, size=N_ROWS)
CODES = np.where(np.arange(N_ROWS) < 24, TRUTH, -1).astype(np.int32)
COUNTS = RNG.poisson(1.0 + 2.0 * (TRUTH[:, None] == np.arange(8) % N_CLASSES)).astype(float)
NUMBERS = RNG.normal(TRUTH[:, None], 1.0, (N_ROWS, 4))
VALUES = np.clip(TRUTH[:, None] + RNG.integers(-1, 2, (N_ROWS, 5)), 0, 2).astype(np.int32)
WEIGHT = RNG.integers(0, 3, N_ROWS).astype(float)
HELD = [np.arange(0, 24, 4), np.arange(1, 24, 4), np.arange(2, 24, 4), np.arange(3, 24, 4)]

SPARSE = csr_array(COUNTS)
GAPS = np.where(RNG.random(NUMBERS.shape) < 0.1, np.nan, NUMBERS)
ONE = PseudoCounts(np.asarray(1.0))
BY_CLASS = PseudoCounts(RNG.gamma(2.0, 1.0, (8, N_CLASSES)))

CASES: dict[str, tuple[Any, Any, Block]] = {
    "words": (Multinomial(), ONE, DenseBlock(COUNTS)),
    "sparse words": (Multinomial(), ONE, SparseBlock(SPARSE.indptr, SPARSE.indices, SPARSE.data, 8)),
    "words with evidence": (Multinomial(), ONE, DenseBlock(COUNTS, evidence=RNG.random(N_ROWS))),
    "words with a prior for each class": (Multinomial(), BY_CLASS, DenseBlock(COUNTS)),
    "words without a prior": (Multinomial(), PseudoCounts(np.asarray(0.0)), DenseBlock(COUNTS)),
    "yes and no": (Bernoulli(), ONE, DenseBlock((COUNTS > 1).astype(float))),
    "counts": (Poisson(), ONE, DenseBlock(COUNTS)),
    "values": (Categorical((3,) * 5), ONE, CodesBlock(VALUES, np.arange(0, 16, 3))),
    "numbers": (Gaussian(), MomentPrior(), DenseBlock(NUMBERS)),
    "spheres": (Gaussian(spherical=True), MomentPrior(), DenseBlock(NUMBERS)),
    "numbers with gaps": (Gaussian(), MomentPrior(), DenseBlock(GAPS, has_missing=True)),
}


def problem(case: str, weight: Any = None, **settings: Any) -> tuple[MixtureModel, Chunks]:
    family, prior, block = CASES[case]
    chunks = Chunks((block,), Labels(CODES, N_CLASSES), weight, rows_per_chunk=32)
    model = MixtureModel((family,), (prior,), np.arange(N_CLASSES), N_CLASSES, **settings)
    part: Any = pooled_counts(model, EXECUTOR, chunks).parts["0"]
    return replace(model, priors=(family.centered(family.anchored(prior, part), part),)), chunks


def without(chunks: Chunks, rows: Any) -> Chunks:
    weight = np.ones(N_ROWS) if chunks.weight is None else chunks.weight.copy()
    weight[rows] = 0.0
    return chunks.with_weight(weight)


def start(model: MixtureModel, chunks: Chunks) -> MixtureParams:
    return model.solve(start_counts(model, EXECUTOR, chunks, lambda c: labeled_resp(model, c, spread=False)), None)


def runs_side_by_side(
    model: MixtureModel, chunks: Chunks, starts: list[MixtureParams], held: list[Any], n_passes: int
) -> list[MixtureParams]:
    """The parameters of each run after some passes for all of them."""
    wide = SideBySide.of(model, len(starts), LeftOut.of(held))
    params = passes_of_em(wide, EXECUTOR, chunks, [wide.joined(starts)], n_passes=n_passes)
    columns = np.split(np.arange(wide.n_components), len(starts))
    return [
        model.make_params(
            params.log_weights[own], tuple({k: v[..., own] for k, v in block.items()} for block in params.blocks)
        )
        for own in columns
    ]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["whole rows", "weighted rows"])
@pytest.mark.parametrize("case", CASES)
def test_every_run_is_what_it_is_alone(case: str, weight: Any) -> None:
    model, chunks = problem(case, weight, class_alpha=0.5)
    assert runs_at_once(model, chunks, 4) == 4
    parts = [without(chunks, held) for held in HELD]
    starts = [start(model, part) for part in parts]
    together = runs_side_by_side(model, chunks, starts, HELD, 3)
    for part, begun, run in zip(parts, starts, together, strict=True):
        params = begun
        for _ in range(3):
            params = model.solve(EXECUTOR.reduce(partial(model.tally, params), part), params)
        np.testing.assert_allclose(run.log_weights, params.log_weights, rtol=1e-10)
        for name, array in params.blocks[0].items():
            np.testing.assert_allclose(run.blocks[0][name], array, rtol=1e-8, atol=1e-12)


def test_class_probabilities_that_were_given_stay() -> None:
    given = np.array([0.5, 0.3, 0.2])
    model, chunks = problem("words", class_prior=given)
    for run in runs_side_by_side(model, chunks, [start(model, chunks)] * 2, HELD[:2], 2):
        np.testing.assert_allclose(np.exp(run.log_weights), given)


def test_what_classes_share_goes_alone() -> None:
    numbers = DenseBlock(NUMBERS)
    labels = Labels(CODES, N_CLASSES)

    def at_once(family: Any, prior: Any, block: Block, labels: Labels = labels, **settings: Any) -> int:
        groups = np.arange(settings.pop("n_components", N_CLASSES)) % N_CLASSES
        model = MixtureModel((family,), (prior,), groups, N_CLASSES, **settings)
        return runs_at_once(model, Chunks((block,), labels, None, rows_per_chunk=32), 5)

    assert at_once(Gaussian(), MomentPrior(), numbers) == 5
    assert at_once(Gaussian(shared=True), MomentPrior(), numbers) == 1
    assert at_once(MultivariateGaussian(), MomentPrior(), numbers) == 1
    assert at_once(Gaussian(), MomentPrior(dof=np.ones((4, N_CLASSES))), numbers) == 1
    assert at_once(Gaussian(), MomentPrior(relative=(np.ones(4), np.ones(4))), numbers) == 1
    assert at_once(Gamma(), ONE, DenseBlock(np.exp(NUMBERS))) == 1
    assert at_once(Multinomial(), PseudoCounts(np.ones(N_CLASSES)), DenseBlock(COUNTS)) == 1
    assert at_once(Multinomial(), ONE, DenseBlock(COUNTS), n_components=6) == 1
    assert at_once(Multinomial(), ONE, DenseBlock(COUNTS), temperature=2.0) == 1
    row = np.where(np.arange(N_ROWS) == 30, 0, -1).astype(np.int32)
    sets = Labels(CODES, N_CLASSES, np.array([[1.0, 1.0, 0.0]]), row)
    assert at_once(Multinomial(), ONE, DenseBlock(COUNTS), sets) == 1


@pytest.mark.parametrize(("columns", "at_once"), [(1_000, 5), (20_000, 3), (50_000, 2), (100_000, 1)])
def test_the_wider_the_tables_the_fewer_runs_go_together(columns: int, at_once: int) -> None:
    block = SparseBlock(np.arange(N_ROWS + 1), np.arange(N_ROWS), np.ones(N_ROWS), columns)
    model = MixtureModel((Multinomial(),), (ONE,), np.arange(N_CLASSES), N_CLASSES)
    chunks = Chunks((block,), Labels(CODES, N_CLASSES), None, rows_per_chunk=32)
    assert runs_at_once(model, chunks, 5) == at_once
    # The rows themselves have no part in it: EM needs no more memory for many of them either.
    long = Chunks(
        (SparseBlock(np.arange(0, 9 * N_ROWS + 1, 9), np.arange(9 * N_ROWS), np.ones(9 * N_ROWS), columns),),
        Labels(CODES, N_CLASSES),
        None,
        rows_per_chunk=32,
    )
    assert runs_at_once(model, long, 5) == at_once
