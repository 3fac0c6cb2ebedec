"""The studies of mixtures: each prints a table whose numbers are what they say."""

from __future__ import annotations

from itertools import islice

from softcount import LatentClass
from studies.mixtures import coverage, maxima, newton
from studies.mixtures.problems import Problem, problems
from tests.reference.published_tables import CARCINOMA, all_rows


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_problems_hold_the_published_tables():
    names = [problem.name for problem in problems()]
    assert "carcinoma, K = 4" in names
    assert "galaxies, K = 3, full, thorough" in names
    assert len(set(names)) == len(names)


def test_seeds_that_miss_the_maximum_are_not_counted(monkeypatch):
    rows = all_rows(CARCINOMA)
    searched, single = LatentClass(4), LatentClass(4, n_init=1)
    monkeypatch.setattr(maxima, "problems", lambda: [Problem("both", m, rows, -289.2858) for m in (searched, single)])
    found = [cells(line) for line in list(maxima.maxima(8))[2:]]
    assert found[0][:4] == ["both", "-289.2858", "8 of 8", "-289.2858"]
    assert int(found[1][2].split()[0]) < 8
    assert float(found[1][3]) < -289.3


def test_errors_and_standard_errors_of_draws_are_listed_by_quantity(monkeypatch):
    monkeypatch.setattr(coverage, "WORLDS", ((400, 1.0),))
    found = {cells(line)[2]: cells(line) for line in list(coverage.coverage(6))[2:]}
    assert float(found["slope, three steps, naive"][4]) < -0.05
    assert abs(float(found["slope, one step"][4])) < 0.2
    assert float(found["item probability"][3]) > 0.8
    assert 0.5 < float(found["item probability"][1]) < 1.0


def test_newton_and_leaps_are_compared_from_the_same_place():
    lines = [cells(line) for line in islice(newton.newton(), 2, 4)]
    assert [line[:3] for line in lines] == [["carcinoma, K = 3", "15", "0"], ["carcinoma, K = 3", "15", "1"]]
    assert all(int(line[5]) > 0 for line in lines)
