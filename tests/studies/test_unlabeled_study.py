"""The study of unlabeled rows: its draws, measures and tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from softcount.core.crossfit import HeldOut
from studies.unlabeled.components import chosen_number, try_numbers
from studies.unlabeled.cost import Cost, measure
from studies.unlabeled.data_sets import REPOSITORY, MissingDataError, load
from studies.unlabeled.draws import Job, Result, calibration_error, draw_labels, run, with_nan
from studies.unlabeled.page import replace_section, write_page
from studies.unlabeled.plan import CURVES, TABLE, TITLES, jobs_to_time, planned_jobs
from studies.unlabeled.results import Kept, keep, read_results
from studies.unlabeled.tables import cost_table, main_table, totals, verdict_table


def result(seed: int, labeled: float, default: float, *, used: str = "full", direction: int = 1) -> Result:
    verdict = {"direction": direction, "conclusive": True, "difference": 0.1 * direction, "sentence": ""}
    accuracy = {"labeled": labeled, "plain": 0.5, "default": default, "self_training": 0.4}
    return Result("wine", 10, seed, accuracy, {"labeled": 0.2, "default": 0.1}, used, verdict)


def cost(seed: int, used: str, *, name: str = "wine") -> Cost:
    seconds, iterations = {"plain": 1.0, "default": 3.0}, {"plain": 4}
    if used == "full":
        seconds["em"], iterations["em"] = 1.5, 6
    return Cost(name, 10, seed, used, seconds, iterations, {"rows": 4.0, "plain": 2.0, "default": 2.5})


def test_a_draw_reports_every_method_and_the_verdict() -> None:
    found = run(Job("wine", 10, 3))
    assert set(found.accuracy) == {"labeled", "plain", "default", "self_training", "spreading"}
    assert all(0.0 <= value <= 1.0 for value in found.accuracy.values())
    assert found.used in ("none", "marginals", "full")
    assert found.verdict["sentence"]


def test_a_cost_has_seconds_iterations_and_memory_of_plain_em_and_of_the_default() -> None:
    found = measure(Job("wine", 10, 3))
    assert found.seconds["plain"] > 0.0
    assert found.seconds["default"] > 0.0
    assert found.iterations["plain"] > 0
    assert min(found.peak.values()) > 0.0


def test_em_inside_the_default_is_timed_where_it_is_run_to_its_end_kept_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("studies.unlabeled.cost.REPEATS", 1)
    data = load("wine")
    found = {seed: measure(Job("wine", 10, seed)) for seed in range(1000, 1003)}
    dropped = [one for one in found.values() if one.used != "full"]
    assert dropped
    for one in found.values():
        assert ("em" in one.seconds) == ("em" in one.iterations)
        if one.used == "full":
            fit = data.classifier().fit(data.X, with_nan(data, draw_labels(data, 10, one.seed)))
            assert one.iterations["em"] == fit.n_iter_
    assert any("em" in one.seconds for one in dropped)


def test_more_components_are_taken_where_held_out_rows_say_so() -> None:
    tried = try_numbers(Job("wine", 10, 3))
    assert tried.chosen in tried.accuracy
    assert set(tried.accuracy) == set(tried.seconds) == {1, 2, 3}

    def choice(right: float) -> Any:
        posterior = np.log(np.tile([right, 1.0 - right], (6, 1)))
        held = HeldOut(np.arange(6), np.zeros(6, dtype=np.int32), np.ones(6), np.ones(6), {"full": posterior})
        return SimpleNamespace(held_out=held, use="full", cooling=0.0)

    assert chosen_number({1: choice(0.6), 2: choice(0.9), 3: choice(0.9)}) == 2
    assert chosen_number({1: choice(0.9), 2: choice(0.6), 3: choice(0.95)}) == 3
    assert chosen_number({1: choice(0.9), 2: choice(0.9), 3: choice(0.6)}) == 1


@pytest.mark.parametrize("seed", range(5))
def test_drawn_labels_hold_every_class_and_are_as_many_as_asked_for(seed: int) -> None:
    data = load("wine")
    rows = draw_labels(data, 10, seed)
    assert np.unique(rows).size == 10
    assert np.unique(data.y[rows]).size == 3


def test_the_calibration_error_is_the_mean_gap_of_its_bins() -> None:
    probability = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.55, 0.45]])
    y = np.array([0, 1, 1, 0])
    assert calibration_error(probability, y) == pytest.approx((abs(1.8 - 1) + abs(0.8 - 1) + abs(0.55 - 1)) / 4)


def test_tables_hold_means_choices_and_verdicts() -> None:
    results = [result(0, 0.6, 0.8), result(1, 0.8, 0.7), result(2, 0.7, 0.71, used="none", direction=0)]
    row = main_table(results).splitlines()[-1]
    assert row == "| wine, 10 | 0.700 | 0.500 | 0.400 |  | **0.737** | +0.037 | 1 / 0 / 2 | 0.200 → 0.100 |"
    assert verdict_table(results).splitlines()[-1] == "| wine, 10 | 2 | 1 | 2 | 1 |"
    assert totals(results).startswith(
        "3 draws: in 2 the true difference exceeds 3 points, and the direction is right in 1"
    )
    assert "1 of them with the wrong sign" in totals(results)
    last = cost_table([cost(0, "full"), cost(1, "none")]).splitlines()[-1]
    assert last == "| wine, 10 | 1.000 (4) | 1.500 (6) | 3.000 | 2.0 | 3.0 | 4.0 | 2.0 → 2.5 |"
    assert (
        cost_table([cost(1, "none")]).splitlines()[-1]
        == "| wine, 10 | 1.000 (4) |  | 3.000 |  | 3.0 | 4.0 | 2.0 → 2.5 |"
    )


def test_results_are_kept_set_by_set_and_the_latest_of_a_set_count(tmp_path: Path) -> None:
    path = tmp_path / "out" / "study.json"
    keep(path, Kept([result(0, 0.6, 0.8)], [], {"wine": 2.0}))
    keep(path, Kept([], [cost(0, "full"), cost(0, "full", name="votes")], {}))
    keep(path, Kept([result(1, 0.5, 0.7)], [], {"wine": 3.0}))
    keep(path, Kept([], [cost(1, "none")], {}))
    assert read_results(path) == Kept(
        [result(1, 0.5, 0.7)], [cost(0, "full", name="votes"), cost(1, "none")], {"wine": 3.0}
    )


def test_costs_alone_leave_the_rest_of_the_page_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- main table -->\nold\n<!-- end of main table --><!-- cost -->\nold\n<!-- end of cost -->")
    write_page(page, Kept([], [cost(0, "full")], {}))
    assert page.read_text().startswith("<!-- main table -->\nold\n<!-- end of main table --><!-- cost -->\n| data")


def test_a_page_of_results_from_different_draws_is_refused(tmp_path: Path) -> None:
    other = replace(result(1, 0.6, 0.8), name="votes")
    (tmp_path / "page.md").touch()
    with pytest.raises(ValueError, match="same --first-seed"):
        write_page(tmp_path / "page.md", Kept([result(0, 0.6, 0.8), other], [], {}))


def test_only_what_stands_between_the_markers_of_a_page_is_replaced() -> None:
    page = "before\n<!-- cost -->\nold\n<!-- end of cost -->\nafter"
    assert replace_section(page, "cost", r"a \1 b") == "before\n<!-- cost -->\na \\1 b\n<!-- end of cost -->\nafter"
    with pytest.raises(ValueError, match="markers"):
        replace_section(page, "curves", "")


def test_the_page_has_all_markers_and_the_figures_it_shows_are_there() -> None:
    page = (REPOSITORY / "docs" / "explanation" / "unlabeled-rows.md").read_text(encoding="utf-8")
    for name in ("main table", "curves", "verdicts", "cost"):
        page = replace_section(page, name, "")
    for figure in (REPOSITORY / "docs" / "explanation" / "figures").glob("unlabeled-*.svg"):
        assert figure.stat().st_size < 150_000


def test_every_set_has_a_title_and_absent_ones_are_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert set(CURVES) <= set(TITLES) == set(TABLE)
    monkeypatch.setenv("SOFTCOUNT_DATA", str(tmp_path))
    batches, skipped = planned_jobs(3, 7, ["wine", "votes"])
    assert [job.seed for batch in batches for job in batch] == [7, 8, 9]
    assert [job.seed for job in jobs_to_time(batches, 2)] == [7, 8]
    with_curves, _ = planned_jobs(1, 7, ["messages"])
    assert {job.n_labels for batch in with_curves for job in batch} == {*TABLE["messages"], *CURVES["messages"]}
    assert len(skipped) == 1
    assert skipped[0].startswith("house votes (no file")
    with pytest.raises(MissingDataError):
        load("mnist")
