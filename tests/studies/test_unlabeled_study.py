"""The study of unlabeled rows: its draws, measures and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studies.unlabeled.data_sets import REPOSITORY, MissingDataError, load
from studies.unlabeled.draws import Job, Result, calibration_error, draw_labels, run
from studies.unlabeled.page import replace_section
from studies.unlabeled.plan import CURVES, TABLE, TITLES, planned_jobs
from studies.unlabeled.results import read_results, write_results
from studies.unlabeled.tables import cost_table, main_table, totals, verdict_table


def result(seed: int, labeled: float, default: float, *, used: str = "full", direction: int = 1) -> Result:
    verdict = {"direction": direction, "conclusive": True, "difference": 0.1 * direction, "sentence": ""}
    accuracy = {"labeled": labeled, "plain": 0.5, "default": default, "self_training": 0.4}
    seconds = {"plain": 1.0, "default": 3.0, "em": 1.5}
    return Result("wine", 10, seed, accuracy, {"labeled": 0.2, "default": 0.1}, used, verdict, seconds)


def test_a_draw_reports_every_method_and_the_verdict() -> None:
    found = run(Job("wine", 10, 3))
    assert set(found.accuracy) == {"labeled", "plain", "default", "self_training", "spreading"}
    assert all(0.0 <= value <= 1.0 for value in found.accuracy.values())
    assert found.used in ("none", "marginals", "full")
    assert found.verdict["sentence"]
    assert found.seconds["default"] > 0.0


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
    assert cost_table(results).splitlines()[-1] == "| wine, 10 | 1.00 | 3.00 | 3.0 | 2.0 |"


def test_results_survive_the_file_they_are_kept_in(tmp_path: Path) -> None:
    results = [result(0, 0.6, 0.8)]
    write_results(tmp_path / "out" / "study.json", results, ["x"], 2.0)
    assert read_results(tmp_path / "out" / "study.json") == (results, ["x"], 2.0)


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
    assert len(skipped) == 1
    assert skipped[0].startswith("house votes (no file")
    with pytest.raises(MissingDataError):
        load("mnist")
