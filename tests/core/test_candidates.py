"""The candidates: their objective, what they know of held-out rows, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from softcount.core.candidates import CANDIDATES, FULL, MARGINALS, NONE, Candidates, row_lengths
from softcount.core.crossfit import hits
from softcount.core.execute import ThreadExecutor
from softcount.core.fold_fits import cross_fit, fold_passes
from softcount.core.iterate import Stopping
from softcount.core.learn import Plan, learn
from softcount.core.unlabeled import choose
from softcount.families.blocks import CodesBlock, DenseBlock, SparseBlock
from softcount.families.categorical import Categorical
from softcount.families.columns import PseudoCounts
from softcount.families.gaussian import Gaussian, MomentPrior
from softcount.inputs.labels import Labels
from tests.core.unlabeled_rows import (
    PLAN,
    CountingExecutor,
    as_chunks,
    multinomial_model,
    text_like,
    with_few_labels,
)


def prepare(X: Any, y: Any, n_classes: int, weight: Any = None, *, alpha: float = 1.0, plan: Plan = PLAN) -> Candidates:
    chunks = as_chunks(X, y, n_classes, weight)
    return Candidates.prepare(multinomial_model(n_classes, alpha), ThreadExecutor(1), chunks, plan)


@pytest.fixture(scope="module")
def problem() -> tuple[Any, Any, Any]:
    X, truth = text_like(300, 80, 3, seed=0)
    return X, truth, with_few_labels(truth, 6, seed=0)


def test_the_objective_of_em_is_the_written_one_and_never_falls(problem: tuple[Any, Any, Any]) -> None:
    X, _, y = problem
    candidates = prepare(X, y, 3, alpha=0.7)
    fit = candidates.fit(FULL, Plan(stopping=Stopping(15, 0.0))).fit
    values = np.array([step.objective for step in fit.history])
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()
    assert values[-1] > values[0]

    total = X.sum(axis=1)
    center = (X.sum(axis=0) + 0.7) / (X.sum() + 0.7 * 80)
    within = ((X * (X - 1)).sum(axis=1)[total >= 2] / (total * (total - 1.0))[total >= 2]).mean()
    words = X.sum(axis=0)
    between = (words @ words - (X * X).sum()) / (total.sum() ** 2 - total @ total)
    rho = (within - between) / (1.0 - between)
    assert rho > 0.001
    evidence = 1.0 / (1.0 + (total - 1.0) * rho)
    log_theta = fit.params.blocks[0]["log_prob"]
    joint = fit.params.log_weights + evidence[:, None] * (X @ log_theta)
    labeled = ~np.isnan(y)
    known = joint[labeled, y[labeled].astype(int)].sum()
    objective = known + logsumexp(joint[~labeled], axis=1).sum() + (0.7 * 80 * center) @ log_theta.sum(axis=1)
    assert fit.objective == pytest.approx(objective, rel=1e-10)


def test_centering_keeps_the_mass_of_the_prior(problem: tuple[Any, Any, Any]) -> None:
    X, _, y = problem
    prior = prepare(X, y, 3, alpha=0.5).informed.priors[0]
    center = (X.sum(axis=0) + 0.5) / (X.sum() + 0.5 * 80)
    np.testing.assert_allclose(prior.alpha[:, 0], 0.5 * 80 * center)
    assert prior.alpha[:, 0].sum() == pytest.approx(0.5 * 80)


def test_pseudo_counts_that_differ_from_word_to_word_keep_their_center(problem: tuple[Any, Any, Any]) -> None:
    X, _, y = problem
    alpha = np.linspace(0.1, 2.0, 80)[:, None]
    model = replace(multinomial_model(3), priors=(PseudoCounts(alpha),))
    candidates = Candidates.prepare(model, ThreadExecutor(1), as_chunks(X, y, 3), PLAN)
    np.testing.assert_array_equal(candidates.informed.priors[0].alpha, alpha)


def test_the_lightest_candidate_is_the_closed_form_of_the_labeled_rows(problem: tuple[Any, Any, Any]) -> None:
    X, _, y = problem
    found = prepare(X, y, 3).fit(NONE, PLAN).fit.params
    for k in range(3):
        counts = X[y == k].sum(axis=0) + 1.0
        np.testing.assert_allclose(found.blocks[0]["log_prob"][:, k], np.log(counts / counts.sum()))


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_labeled_rows_are_the_same_copied_together_or_left_in_place(share: float) -> None:
    X, truth = text_like(200, 30, 2, seed=1)
    y = np.where(np.random.default_rng(2).random(200) < share, truth, np.nan)
    candidates = prepare(X, y, 2)
    known = ~np.isnan(y)
    assert (candidates.told.n_rows == 200) == (share == 0.9)
    alone = learn(multinomial_model(2), ThreadExecutor(1), as_chunks(X[known], y[known], 2), PLAN)
    np.testing.assert_allclose(
        candidates.fit(NONE, PLAN).fit.params.blocks[0]["log_prob"], alone.fit.params.blocks[0]["log_prob"]
    )
    out = np.arange(0, candidates.n_labeled, 3)
    rest = np.delete(np.flatnonzero(known), out)
    without = learn(multinomial_model(2), ThreadExecutor(1), as_chunks(X[rest], y[rest], 2), PLAN)
    np.testing.assert_allclose(
        candidates.fit(NONE, PLAN, out).fit.params.blocks[0]["log_prob"], without.fit.params.blocks[0]["log_prob"]
    )


@pytest.mark.parametrize("name", CANDIDATES)
def test_the_labels_of_rows_left_out_have_no_part_in_a_fold(name: str, problem: tuple[Any, Any, Any]) -> None:
    X, truth, y = problem
    out = np.array([0, 4, 9])
    rows = np.flatnonzero(~np.isnan(y))[out]
    wrong = y.copy()
    wrong[rows] = (truth[rows] + 1) % 3

    def tables(labels: Any) -> Any:
        candidates = prepare(X, labels, 3)
        start = candidates.fit(NONE if name == NONE else MARGINALS, PLAN, out).fit.params
        params = candidates.few_passes([start], 4, out) if name == FULL else start
        return params.blocks[0]["log_prob"]

    np.testing.assert_array_equal(tables(y), tables(wrong))


def test_random_labels_are_predicted_no_better_than_by_chance() -> None:
    rng = np.random.default_rng(5)
    # Every row has words of its own, so a row whose label had been seen would be recognized.
    X = rng.poisson(1.0, (150, 300)).astype(float)
    y = np.full(150, np.nan)
    y[:100] = rng.permutation(np.repeat([0.0, 1.0], 50))
    candidates = prepare(X, y, 2)
    held = cross_fit(candidates, 3)
    assert len(held) == 200
    for name in CANDIDATES:
        accuracy, _ = held.by_row(hits(held.log_posterior[name], held.codes))
        assert accuracy.mean() < 0.5 + 3.0 * 0.5 / np.sqrt(100)
    seen = candidates.fit(MARGINALS, PLAN).fit.params
    blocks = (DenseBlock(X[:100]),)
    assert hits(candidates.log_posterior(seen, blocks), candidates.codes).mean() > 0.95


@pytest.mark.parametrize(("n_labeled_per_class", "n_rows"), [(3, 400), (40, 400), (120, 400)])
def test_all_passes_together_are_at_most_five_times_those_of_em(n_labeled_per_class: int, n_rows: int) -> None:
    X, truth = text_like(n_rows, 60, 3, seed=7)
    y = with_few_labels(truth, n_labeled_per_class, seed=7)
    chunks = as_chunks(X, y, 3)
    whole, alone = CountingExecutor(), CountingExecutor()
    choice = choose(multinomial_model(3), whole, chunks, PLAN)
    candidates = Candidates.prepare(multinomial_model(3), ThreadExecutor(1), chunks, PLAN)
    learn(candidates.informed, alone, candidates.rows, PLAN)
    # Labeled rows are counted, not scored, which costs far less than a pass of EM: a fifth is on the high side.
    labeled_share = 20.0 * candidates.told.n_rows * 4.0 / 5.0
    assert whole.rows - labeled_share <= 5.0 * alone.rows
    assert choice.verdict.n_labeled == 3 * n_labeled_per_class


def test_a_row_is_as_long_as_its_words_or_observed_cells() -> None:
    model = replace(
        multinomial_model(2),
        families=(multinomial_model(2).families[0], Gaussian(), Categorical((2, 3))),
        priors=(PseudoCounts(np.asarray(1.0)), MomentPrior(), PseudoCounts(np.asarray(1.0))),
    )
    blocks = (
        DenseBlock(np.array([[3.0, np.nan], [0.0, 2.0]]), has_missing=True),
        DenseBlock(np.array([[1.0, np.nan], [1.0, 2.0]]), has_missing=True),
        CodesBlock(np.array([[0, -1], [1, 2]], dtype=np.int32), np.array([0, 2, 5])),
    )
    assert row_lengths(model, blocks).tolist() == [3.0 + 1.0 + 1.0, 2.0 + 2.0 + 2.0]


def test_missing_cells_of_sparse_rows_do_not_count_as_observed() -> None:
    pattern = SparseBlock(np.array([0, 1, 1]), np.array([2]), None, 3)
    block = SparseBlock(np.array([0, 2, 2]), np.array([0, 2]), np.array([1.0, 0.0]), 3, pattern)
    model = replace(multinomial_model(2), families=(Gaussian(),), priors=(MomentPrior(),))
    assert row_lengths(model, (block,)).tolist() == [2.0, 3.0]


def test_many_labeled_rows_are_not_all_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from softcount.core import fold_fits as module

    monkeypatch.setattr(module, "MOST_HELD_OUT", 40)
    monkeypatch.setattr(module, "ENOUGH_ROWS", 30)
    X, truth = text_like(200, 30, 2, seed=9)
    y = np.where(np.arange(200) < 120, truth, np.nan)
    held = cross_fit(prepare(X, y, 2), 1)
    assert len(held) == np.unique(held.rows).size == 40
    assert held.rows.max() > 40


def test_folds_follow_the_seed() -> None:
    X, truth = text_like(120, 30, 2, seed=10)
    y = with_few_labels(truth, 12, seed=0)
    first, again, other = (cross_fit(prepare(X, y, 2, plan=Plan(seed=seed)), 1) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.rows, again.rows)
    assert (first.rows != other.rows).any()


def test_rows_of_weight_zero_are_neither_labeled_nor_unlabeled() -> None:
    X, truth = text_like(60, 20, 2, seed=11)
    y = with_few_labels(truth, 6, seed=0)
    weight = np.ones(60)
    weight[np.flatnonzero(~np.isnan(y))[:2]] = 0.0
    weight[np.flatnonzero(np.isnan(y))[:5]] = 0.0
    candidates = prepare(X, y, 2, weight)
    assert candidates.n_labeled == 10
    assert candidates.unlabeled.size == 60 - 12 - 5


def test_labels_of_rows_are_taken_over() -> None:
    X, truth = text_like(60, 20, 2, seed=12)
    y = with_few_labels(truth, 6, seed=0)
    factors = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    row = np.full(60, -1, dtype=np.int32)
    row[np.flatnonzero(np.isnan(y))[:20]] = np.arange(20) % 2
    codes = np.where(np.isnan(y), -1, np.nan_to_num(y)).astype(np.int32)
    codes[np.flatnonzero(codes == 1)[:3]] = 2
    chunks = as_chunks(X, y, 3)
    chunks.labels = Labels(codes, 3, factors, row)
    candidates = Candidates.prepare(multinomial_model(3), ThreadExecutor(1), chunks, PLAN)
    assert candidates.told.n_rows in (60, 32)
    assert candidates.unlabeled.size == 60 - 12 - 20
    # Sets are learned from by EM in every fold, so there are fewer passes over all rows.
    assert fold_passes(candidates, 30) < fold_passes(prepare(X, y, 2), 30)
    held = cross_fit(candidates, 2)
    # For the same reason they are dealt out once.
    assert len(held) == 12
    assert all(np.isfinite(scores).all() for scores in held.log_posterior.values())
