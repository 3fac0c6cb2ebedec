"""Verdicts: the interval against its formula, directions, and what is said."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from softcount.core.crossfit import HeldOut
from softcount.core.verdict import Verdict, interrupted_verdict, no_evidence, paired_interval, weigh_up


def held_out(right_alone: list[bool], right: list[bool], *, sure: float = 0.8, n_repeats: int = 1) -> HeldOut:
    """Rows of class 0 that the labeled rows alone, and a fit with the others, get right or wrong."""

    def scores(rights: list[bool]) -> np.ndarray:
        share = np.array([sure if r else 1.0 - sure for r in rights] * n_repeats)
        return np.log(np.stack([share, 1.0 - share], axis=1))

    n = len(right)
    rows = np.tile(np.arange(n), n_repeats)
    posteriors = {"none": scores(right_alone), "marginals": scores(right), "full": scores(right)}
    return HeldOut(rows, np.zeros(rows.size, dtype=np.int32), np.ones(rows.size), np.ones(rows.size), posteriors)


COOLING = {"none": 0.0, "marginals": 0.0, "full": 0.0}


def judge(
    right_alone: list[bool], right: list[bool], used: str = "full", *, twice: bool = True, sure: float = 0.8
) -> Verdict:
    held = held_out(right_alone, right, sure=sure)
    return weigh_up(held, COOLING, used, n_labeled=len(right), n_unlabeled=11014, every_class_twice=twice)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60))
def test_the_interval_is_that_of_agresti_and_min(wins: int, losses: int, ties: int) -> None:
    gain = np.concatenate([np.ones(wins), -np.ones(losses), np.zeros(ties)])
    middle, error = paired_interval(gain, np.ones(gain.size))
    # Their form: half a win, half a loss and half of each tie added to the table of matched pairs.
    n = wins + losses + ties + 2.0
    b, c = wins + 0.5, losses + 0.5
    assert middle == pytest.approx((b - c) / n)
    assert error == pytest.approx(math.sqrt((b + c - (b - c) ** 2 / n) / n**2))


def test_a_weight_is_that_many_rows_in_the_interval() -> None:
    gain, weight = np.array([1.0, 0.0, -1.0, 0.5]), np.array([3.0, 2.0, 1.0, 0.0])
    again = np.repeat(gain, weight.astype(int))
    assert paired_interval(gain, weight) == pytest.approx(paired_interval(again, np.ones(again.size)))


def test_the_interval_of_a_verdict_holds_nine_tenths() -> None:
    right_alone, right = [True] * 30 + [False] * 70, [True] * 20 + [False] * 40 + [True] * 40
    middle, error = paired_interval(np.subtract(right, right_alone, dtype=float), np.ones(100))
    verdict = judge(right_alone, right)
    assert verdict.difference == pytest.approx(middle)
    assert verdict.interval == pytest.approx(norm.interval(0.9, middle, error))


def test_a_clear_gain_is_conclusive_and_said_with_numbers() -> None:
    verdict = judge([True] * 50 + [False] * 50, [True] * 90 + [False] * 10)
    assert verdict.conclusive
    assert verdict.direction == 1
    assert verdict.interval[0] > 0.0
    assert verdict.difference == pytest.approx(40 / 102)
    assert str(verdict).startswith("Using the 11,014 unlabeled rows raised accuracy from 0.50 to 0.90 (± 0.08)")
    assert (verdict.accuracy_labeled, verdict.accuracy) == (0.5, 0.9)
    assert verdict.log_loss == pytest.approx(-(0.9 * math.log(0.8) + 0.1 * math.log(0.2)))


def test_a_clear_loss_is_said_too() -> None:
    verdict = judge([True] * 60, [True] * 20 + [False] * 40)
    assert verdict.conclusive
    assert verdict.direction == -1
    assert "lowered accuracy from 1.00 to 0.33" in str(verdict)


def test_the_marginals_are_named_where_only_they_were_used() -> None:
    verdict = judge([False] * 50 + [True] * 50, [True] * 100, "marginals")
    assert "for the columns' overall distributions only raised accuracy" in str(verdict)


def test_few_labels_are_said_to_be_too_few() -> None:
    verdict = judge([True] * 8 + [False] * 2, [True] * 9 + [False])
    assert not verdict.conclusive
    assert verdict.direction == 1
    assert verdict.interval[0] < 0.0 < verdict.interval[1]
    assert "Too few labels to tell (10 labeled rows: accuracy 0.80 without and 0.90 with" in str(verdict)


def test_many_labels_without_a_difference_are_not_called_too_few() -> None:
    rights = [True] * 1900 + [False] * 100
    assert str(judge(rights, rights)).startswith("Little difference: accuracy 0.95 without and 0.95 with")


def test_a_tie_in_hits_is_decided_by_the_probabilities() -> None:
    rights = [True] * 6 + [False] * 2
    held = held_out(rights, rights)
    better = {**held.log_posterior, "full": np.where(held.log_posterior["full"] > math.log(0.5), -0.1, -2.4)}
    sharper = HeldOut(held.rows, held.codes, held.length, held.weight, better)
    settings = {"n_labeled": 8, "n_unlabeled": 5, "every_class_twice": True}
    direction = weigh_up(sharper, COOLING, "full", **settings).direction
    swapped = HeldOut(
        held.rows, held.codes, held.length, held.weight, {**better, "none": better["full"], "full": better["none"]}
    )
    assert direction == -weigh_up(swapped, COOLING, "full", **settings).direction
    assert direction != 0


def test_rows_of_weight_zero_compare_em_in_the_sentence_but_have_no_direction() -> None:
    verdict = judge([True] * 10, [True] * 8 + [False] * 2, "none")
    assert verdict.direction == 0
    assert verdict.difference < 0.0
    expected = "The 11,014 unlabeled rows did not help (accuracy 1.00 without and 0.80 with EM over them"
    assert str(verdict).startswith(expected)
    assert str(verdict).endswith("they were given weight 0.")


def test_more_hits_without_better_probabilities_are_not_called_no_help() -> None:
    few = judge([True] * 8 + [False] * 2, [True] * 9 + [False], "none")
    assert str(few).startswith(
        "Too few labels to tell (10 labeled rows: accuracy 0.80 without and 0.90 with EM over the"
    )
    assert str(few).endswith("they were given weight 0, because the held-out probabilities were not better.")
    clear = judge([True] * 50 + [False] * 50, [True] * 90 + [False] * 10, "none")
    assert str(clear).startswith(
        "Held-out accuracy 0.50 without and 0.90 with EM over the 11,014 unlabeled rows (± 0.08)"
    )


def test_one_unlabeled_row_is_spoken_of_in_the_singular() -> None:
    rights = [True] * 1900 + [False] * 100
    held, settings = held_out(rights, rights), {"n_labeled": 2000, "n_unlabeled": 1}
    used = weigh_up(held, COOLING, "full", every_class_twice=True, **settings)
    assert "with the 1 unlabeled row (± 0.00); it was used, because" in str(used)
    single = weigh_up(held, COOLING, "full", every_class_twice=False, **settings)
    assert "The 1 unlabeled row was used, because" in str(single)
    assert "the 1 unlabeled row was used, because" in str(no_evidence("full", 2, 1))


def test_a_class_with_one_label_leaves_every_verdict_open() -> None:
    verdict = judge([False] * 60, [True] * 60, twice=False)
    assert not verdict.conclusive
    assert verdict.direction == 1
    assert "some class has a single labeled row" in str(verdict)


def test_repeats_do_not_count_as_more_rows() -> None:
    alone, right = [True] * 8 + [False] * 4, [True] * 12
    settings = {"n_labeled": 12, "n_unlabeled": 9, "every_class_twice": True}
    once = weigh_up(held_out(alone, right), COOLING, "full", **settings)
    twice = weigh_up(held_out(alone, right, n_repeats=2), COOLING, "full", **settings)
    assert once.interval == pytest.approx(twice.interval)


@pytest.mark.parametrize("make", [no_evidence, interrupted_verdict])
def test_without_a_comparison_there_are_no_numbers(make: Callable[[str, int, int], Verdict]) -> None:
    verdict = make("full", 3, 1234)
    assert math.isnan(verdict.accuracy)
    assert math.isnan(verdict.interval[0])
    assert not verdict.conclusive
    assert "1,234 unlabeled rows" in str(verdict)
