"""Pages of results: what was not measured stays as it was, and the README's table has all its rows or none anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.measuring import OURS, Outcome, Timing
from benchmarks.pages import BEGIN, END, HEADLINES, MEMORY, SCALING, SECTIONS, TIMES, page_of, parsed, readme_with
from benchmarks.results import REPOSITORY, Measured

MACHINE = {"libraries": {"numpy": "2.0"}, "date": "2026-01-01", "cores": 2, "processor": "a", "python": "3.12"}
SETTINGS = {"scale": 1.0, "threads": 2}


def measured(*outcomes: Outcome) -> Measured:
    return Measured("gaussian-nb", SETTINGS, list(outcomes), machine=MACHINE)


def headline_outcomes() -> list[Outcome]:
    """A contest for every row of the README, the n-th rival taking n times as long."""
    return [
        Outcome(f"{row.contest} and more", False, Timing(OURS, seconds=1.0), [Timing(row.rival, seconds=place + 1.0)])
        for place, row in enumerate(HEADLINES)
    ]


def test_sections_without_results_stay_as_they_were() -> None:
    before = page_of({TIMES: "old times", MEMORY: "old memory"})
    after = parsed(page_of({TIMES: "new times", SCALING: "new ladders"}, before))
    assert after == {TIMES: "new times", MEMORY: "old memory", SCALING: "new ladders"}


def test_the_page_of_the_documentation_has_sections_of_these_names() -> None:
    text = (REPOSITORY / "docs" / "explanation" / "performance-measured.md").read_text(encoding="utf-8")
    found = parsed(text)
    assert {TIMES, MEMORY, SCALING} <= set(found) <= set(SECTIONS)
    assert page_of({}, text) == text


def test_the_readme_gets_a_row_for_every_headline() -> None:
    old = f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n"
    new = readme_with(old, [measured(*headline_outcomes())])
    assert new.startswith(f"before\n\n{BEGIN}\n|")
    assert new.endswith(f"{END}\n\nafter\n")
    assert "| 1 s | scikit-learn | 1.0 times as long |" in new
    assert new.count("times as long") == len(HEADLINES) <= 8


def test_the_readme_stays_as_it_is_where_a_row_was_not_measured() -> None:
    old = f"{BEGIN}\nold\n{END}\n"
    assert readme_with(old, [measured(*headline_outcomes()[1:])]) == old
    with pytest.raises(SystemExit, match="has no lines"):
        readme_with("nothing", [])


def test_the_command_writes_the_sections_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, readme = tmp_path / "page.md", tmp_path / "README.md"
    page.write_text(page_of({TIMES: "old times", MEMORY: "old memory"}), encoding="utf-8")
    readme.write_text(f"{BEGIN}\nold\n{END}\n", encoding="utf-8")
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "README", readme)
    fit = Outcome("fit", False, Timing(OURS, seconds=1.0, extra_mb=3.0), [Timing("other", seconds=2.0, extra_mb=9.0)])
    fit.memory_limit_mb = 64.0
    measured(fit, *headline_outcomes()).save(tmp_path)
    asked = ["--only-report", "--update-docs", "--folder", str(tmp_path)]
    command.main([*asked, "--section", MEMORY])
    found = parsed(page.read_text(encoding="utf-8"))
    assert found[TIMES] == "old times"
    assert "| fit | 3 | 64 | met | other 9 |" in found[MEMORY]
    assert "old" in readme.read_text(encoding="utf-8")
    command.main(asked)
    assert "| fit | other | 1 s | 2 s | 2.0 |" in parsed(page.read_text(encoding="utf-8"))[TIMES]
    assert "old" not in readme.read_text(encoding="utf-8")
