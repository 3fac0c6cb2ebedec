"""The choice between three uses of unlabeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from softcount.core import side_by_side
from softcount.core.candidates import Candidates
from softcount.core.crossfit import HeldOut
from softcount.core.execute import ThreadExecutor
from softcount.core.fold_fits import FIRST_LOOK, CrossFit, cross_fit
from softcount.core.learn import Plan
from softcount.core.unlabeled import can_choose, choose, has_lost, is_clear, lightest_good_candidate
from softcount.inputs.labels import Labels
from tests.core.unlabeled_rows import (
    PLAN,
    CountingExecutor,
    as_chunks,
    multinomial_model,
    text_like,
    with_few_labels,
)

COOLING = {"none": 0.0, "marginals": 0.0, "full": 0.0}


def held_out(none: Any, marginals: Any, full: Any) -> HeldOut:
    """Rows of class 0 with the probability that each candidate gives it."""

    def scores(share: Any) -> np.ndarray:
        share = np.asarray(share, dtype=np.float64)
        return np.log(np.stack([share, 1.0 - share], axis=1))

    n = len(none)
    posteriors = {"none": scores(none), "marginals": scores(marginals), "full": scores(full)}
    return HeldOut(np.arange(n), np.zeros(n, dtype=np.int32), np.ones(n), np.ones(n), posteriors)


def pick(none: Any, marginals: Any, full: Any, *, twice: bool = True) -> str:
    return lightest_good_candidate(held_out(none, marginals, full), COOLING, every_class_twice=twice)


def test_the_best_brier_score_is_chosen() -> None:
    assert pick([0.6] * 9, [0.7] * 9, [0.9] * 9) == "full"
    assert pick([0.6] * 9, [0.9] * 9, [0.7] * 9) == "marginals"
    assert pick([0.9] * 9, [0.7] * 9, [0.6] * 9) == "none"


def test_ties_go_to_the_candidate_that_leans_less_on_unlabeled_rows() -> None:
    assert pick([0.8] * 9, [0.8] * 9, [0.8] * 9) == "none"
    assert pick([0.6] * 9, [0.8] * 9, [0.8] * 9) == "marginals"


def test_a_gain_within_a_quarter_of_a_standard_error_is_a_tie() -> None:
    # One row gains, one loses almost as much.
    loss = 1.0 - np.sqrt(0.9 * (0.4**2 - 0.1**2) + 0.1**2)
    wide = np.array([0.6, 1.0 - (1.0 - loss)])
    assert pick([0.6, 0.9], [0.9, float(wide[1])], [0.6, 0.9]) == "none"
    assert pick([0.6, 0.6], [0.9, 0.59], [0.6, 0.6]) == "marginals"


def test_a_class_with_a_single_label_takes_weight_zero_off_the_table() -> None:
    assert pick([0.9] * 9, [0.7] * 9, [0.6] * 9, twice=False) == "marginals"


def test_the_weights_of_rows_count() -> None:
    held = held_out([0.5, 0.9], [0.9, 0.5], [0.5, 0.5])

    def chosen(weight: list[float]) -> str:
        weighted = HeldOut(held.rows, held.codes, held.length, np.array(weight), held.log_posterior)
        return lightest_good_candidate(weighted, COOLING, every_class_twice=True)

    assert chosen([9.0, 1.0]) == "marginals"
    assert chosen([1.0, 9.0]) == "none"


# ---- whether there is a choice
def rows_with(codes: list[int], weight: list[float] | None = None) -> Any:
    y = np.where(np.array(codes) < 0, np.nan, np.array(codes, dtype=float))
    return as_chunks(np.ones((len(codes), 2)), y, 2, None if weight is None else np.array(weight))


def test_there_is_a_choice_where_every_class_has_a_label_and_some_row_has_none() -> None:
    model = multinomial_model(2)
    assert can_choose(model, rows_with([0, 1, -1]))
    assert not can_choose(model, rows_with([0, 1, 1]))
    assert not can_choose(model, rows_with([0, 0, -1]))
    assert not can_choose(multinomial_model(1), rows_with([0, 0, -1]))


def test_rows_of_weight_zero_offer_no_choice() -> None:
    model = multinomial_model(2)
    assert not can_choose(model, rows_with([0, 1, -1], [1.0, 1.0, 0.0]))
    assert not can_choose(model, rows_with([0, 1, -1], [1.0, 0.0, 1.0]))
    assert can_choose(model, rows_with([0, 1, -1, -1], [1.0, 1.0, 0.0, 2.0]))


def test_fixed_probabilities_speak_for_their_classes_but_sets_do_not() -> None:
    row = np.array([0, 0, -1], dtype=np.int32)
    codes = np.full(3, -1, dtype=np.int32)
    for factors, fixed in ((np.array([[0.6, 0.4]]), True), (np.array([[1.0, 1.0]]), False)):
        chunks = rows_with([-1, -1, -1])
        chunks.labels = Labels(codes, 2, factors, row, fixed)
        assert can_choose(multinomial_model(2), chunks) == fixed


# ---- choosing
def test_em_is_chosen_where_documents_of_a_class_share_words() -> None:
    X, truth = text_like(800, 300, 4, seed=3, burst=60.0, share=0.15)
    choice = choose(multinomial_model(4), ThreadExecutor(1), as_chunks(X, with_few_labels(truth, 10, 0), 4), PLAN)
    assert choice.use == "full"
    assert choice.verdict.direction == 1
    assert choice.cooling is not None
    assert choice.cooling > 0.0


def test_weight_zero_is_chosen_where_unlabeled_rows_mislead() -> None:
    rng = np.random.default_rng(1)
    truth = np.repeat([0.0, 1.0], 30)
    labeled = rng.poisson(np.where(truth[:, None] == np.arange(2), 3.0, 1.0))
    labeled = np.column_stack([labeled, rng.poisson(0.5, (60, 30))])
    # Rows without a label fall into two groups that have nothing to do with the classes, and most of their words are
    # one that tells the classes apart.
    group = rng.integers(2, size=2000)
    other = rng.poisson(np.where(group[:, None] == (np.arange(30) % 2), 4.0, 0.2))
    other = np.column_stack([rng.poisson(150.0, 2000), rng.poisson(0.1, 2000), other])
    X = np.concatenate([labeled, other]).astype(float)
    y = np.concatenate([truth, np.full(2000, np.nan)])
    choice = choose(multinomial_model(2), ThreadExecutor(1), as_chunks(X, y, 2), PLAN)
    assert choice.use == "none"
    assert choice.verdict.direction == 0
    assert "given weight 0" in choice.verdict.sentence
    assert choice.verdict.accuracy < choice.verdict.accuracy_labeled
    for k in range(2):
        counts = labeled[truth == k].sum(axis=0) + 1.0
        np.testing.assert_allclose(choice.learned.fit.params.blocks[0]["log_prob"][:, k], np.log(counts / counts.sum()))


def test_one_label_per_class_takes_em_on_belief_and_says_so() -> None:
    X, truth = text_like(300, 80, 3, seed=2)
    choice = choose(multinomial_model(3), ThreadExecutor(1), as_chunks(X, with_few_labels(truth, 1, 0), 3), PLAN)
    assert choice.use == "full"
    assert np.isnan(choice.verdict.accuracy)
    assert "Label at least 2 rows per class" in choice.verdict.sentence
    assert choice.cooling is not None


# ---- Ctrl-C
def test_ctrl_c_at_any_time_keeps_what_was_learned() -> None:
    X, truth = text_like(200, 40, 2, seed=3)
    chunks = as_chunks(X, with_few_labels(truth, 5, 0), 2)
    model, counter = multinomial_model(2), CountingExecutor()
    choose(model, counter, chunks, PLAN)
    whole = Candidates.prepare(model, ThreadExecutor(1), chunks, PLAN)
    uses = []
    for stop_at in range(2, counter.passes + 1):
        choice = choose(model, CountingExecutor(stop_at), chunks, PLAN)
        assert choice.learned.fit.interrupted
        assert choice.cooling is None
        assert "Interrupted" in choice.verdict.sentence
        assert choice.verdict.used == choice.use
        uses.append(choice.use)
        if choice.use == "marginals":
            found = whole.fit("marginals", PLAN).fit.params
            np.testing.assert_array_equal(choice.learned.fit.params.blocks[0]["log_prob"], found.blocks[0]["log_prob"])
    # During the first look (two closed forms, then passes) there is nothing but the marginals, and then EM as far as it
    # came.
    turn = uses.index("full")
    assert turn >= 2 + FIRST_LOOK
    assert uses == ["marginals"] * turn + ["full"] * (len(uses) - turn)
    # After EM has ended nothing of it is lost.
    found = whole.fit("full", PLAN).fit.params
    np.testing.assert_array_equal(choice.learned.fit.params.blocks[0]["log_prob"], found.blocks[0]["log_prob"])


def test_progress_is_told_with_every_group_of_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, truth = text_like(100, 30, 2, seed=4)
    chunks = as_chunks(X, with_few_labels(truth, 5, 0), 2)
    candidates = Candidates.prepare(multinomial_model(2), ThreadExecutor(1), chunks, Plan())
    told: list[str] = []
    cross_fit(candidates, 2, tell=told.append)
    assert told == [
        "cross-validation, folds 1 to 5 of 10 (10 labeled rows held out)",
        "cross-validation, folds 6 to 10 of 10 (10 labeled rows held out)",
    ]
    told.clear()
    monkeypatch.setattr(side_by_side, "SCORE_BYTES", 0)
    cross_fit(candidates, 2, tell=told.append)
    assert len(told) == 10
    assert told[0] == "cross-validation, fold 1 of 10 (2 labeled rows held out)"
    assert told[-1].startswith("cross-validation, fold 10 of 10")


# ---- when to stop
def test_em_that_is_far_behind_after_a_few_passes_is_not_run_to_its_end() -> None:
    rng = np.random.default_rng(1)
    low, middle, high = (p + 0.05 * rng.random(40) for p in (0.4, 0.6, 0.8))
    assert has_lost(held_out(low, high, middle), every_class_twice=True)
    assert has_lost(held_out(high, low, middle), every_class_twice=True)
    assert not has_lost(held_out(low, middle, high), every_class_twice=True)
    assert not has_lost(held_out(low, middle, middle), every_class_twice=True)


def test_a_first_look_is_gone_on_from_and_changes_nothing() -> None:
    X, truth = text_like(300, 60, 3, seed=6)
    candidates = Candidates.prepare(
        multinomial_model(3), ThreadExecutor(1), as_chunks(X, with_few_labels(truth, 8, 0), 3), Plan()
    )
    looked = CrossFit(candidates)
    first = looked.first_look()
    assert first is not None
    short, long = cross_fit(candidates, FIRST_LOOK), cross_fit(candidates, FIRST_LOOK + 4)
    after = looked.run(FIRST_LOOK + 4)
    for name in ("none", "marginals", "full"):
        np.testing.assert_allclose(first.log_posterior[name], short.log_posterior[name][: len(first)])
        np.testing.assert_allclose(after.log_posterior[name], long.log_posterior[name])


def test_folds_one_by_one_give_what_folds_side_by_side_give() -> None:
    X, truth = text_like(300, 60, 3, seed=6)
    candidates = Candidates.prepare(
        multinomial_model(3), ThreadExecutor(1), as_chunks(X, with_few_labels(truth, 8, 0), 3), Plan()
    )
    together, alone = CrossFit(candidates), CrossFit(candidates)
    assert together.at_once > 1
    alone.at_once = 1
    many, one = together.run(4), alone.run(4)
    for name in ("none", "marginals", "full"):
        np.testing.assert_allclose(one.log_posterior[name], many.log_posterior[name], rtol=1e-9)


def test_a_clear_comparison_needs_no_second_repeat_of_the_folds() -> None:
    rng = np.random.default_rng(0)
    good, bad = 0.9 - 0.05 * rng.random(40), 0.5 + 0.05 * rng.random(40)
    assert is_clear(held_out(bad, bad + 0.2, good), every_class_twice=True)
    assert is_clear(held_out(good, bad + 0.2, bad), every_class_twice=True)
    # Half of the rows gain 0.1 in Brier score, and the others lose as much.
    torn = 1.0 - np.sqrt(np.where(np.arange(40) % 2, 0.08, 0.28) / 2.0)
    assert not is_clear(held_out([0.7] * 40, torn, bad), every_class_twice=True)
    # No difference at all says nothing either.
    assert not is_clear(held_out(good, good, good), every_class_twice=True)


@pytest.mark.parametrize(("gain", "clear"), [(1.1, False), (1.4, True), (-0.6, False), (-0.9, True)])
def test_a_comparison_is_clear_a_whole_standard_error_beyond_the_margin(gain: float, clear: bool) -> None:
    # Brier scores that are this many standard errors of a hundred rows better than 0.18.
    swing = 0.08 * np.where(np.arange(100) % 2, 1.0, -1.0)
    scores = 0.18 - gain * 0.08 / 10.0 + swing
    assert is_clear(held_out([0.7] * 100, 1.0 - np.sqrt(scores / 2.0), [0.2] * 100), every_class_twice=True) == clear


def test_folds_are_dealt_out_once_more_only_where_the_first_deal_left_it_open() -> None:
    X, truth = text_like(300, 60, 3, seed=5)
    candidates = Candidates.prepare(
        multinomial_model(3), ThreadExecutor(1), as_chunks(X, with_few_labels(truth, 8, 0), 3), Plan()
    )
    twice, once = cross_fit(candidates, 2), CrossFit(candidates).run(2, lambda found: True)
    assert (len(twice), len(once)) == (48, 24)
    np.testing.assert_array_equal(once.rows, twice.rows[:24])
    np.testing.assert_array_equal(once.log_posterior["full"], twice.log_posterior["full"][:24])
