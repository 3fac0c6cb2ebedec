"""Two revisions beside each other: what counts as slower, and what happens when one does not take part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compare
from benchmarks.compare import Comparison, NothingToCompare, build, main, resolve


@pytest.mark.parametrize(
    ("before", "now", "slower"),
    [
        ([1.0, 1.0, 1.0], [1.2, 1.2, 1.2], True),
        ([1.0, 1.0, 1.0], [1.05, 1.05, 1.05], False),
        # A busy moment makes the median worse and leaves the fastest turn alone.
        ([1.0, 1.0, 1.0], [1.0, 1.5, 1.5], False),
        ([1.2, 1.2, 1.2], [1.0, 1.0, 1.0], False),
    ],
)
def test_slower_is_what_takes_a_tenth_longer_at_its_best_and_in_the_middle(
    before: list[float], now: list[float], *, slower: bool
) -> None:
    assert Comparison("work", before, now).is_slower == slower


def test_a_name_that_is_no_commit_is_refused() -> None:
    with pytest.raises(NothingToCompare, match="'no-such-branch' names no commit"):
        resolve("no-such-branch")
    assert main(["no-such-branch"]) == 2


def test_a_revision_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "0123456789ab"
    home.mkdir()
    (home / ".built").touch()
    monkeypatch.setattr(compare.subprocess, "run", lambda *_, **__: pytest.fail("it is there already"))
    assert build("0123456789abcdef", tmp_path) == home / "src"


class Pretender:
    """A worker whose turns take what the test says."""

    def __init__(self, told: list[dict[str, str]], seconds: float) -> None:
        self.hello = {"contests": told}
        self.seconds = seconds

    def turn(self, _: int) -> float:
        return self.seconds

    def close(self) -> None:
        pass


OK = {"name": "work", "status": "ok", "note": ""}


def outcome(monkeypatch: pytest.MonkeyPatch, folder: Path, old: Pretender, new: Pretender) -> int:
    """The exit status where both are ready."""
    workers = iter([old, new] * 5)
    monkeypatch.setattr(compare, "resolve", lambda _: "0" * 40)
    monkeypatch.setattr(compare, "build", lambda _: Path("before"))
    monkeypatch.setattr(compare, "Worker", lambda *_: next(workers))
    return main(["main", "gaussian-nb", "--turns", "2", "--folder", str(folder)])


@pytest.mark.parametrize(("seconds", "status"), [(1.0, 0), (1.3, 1), (0.5, 0)])
def test_the_exit_status_says_whether_something_is_slower(
    seconds: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcome(monkeypatch, tmp_path, Pretender([OK], 1.0), Pretender([OK], seconds)) == status
    (kept,) = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))["contests"]
    # A suspect is looked at twice more.
    assert len(kept["now"]) == (6 if seconds > 1.1 else 2)


def test_what_worked_before_and_does_no_more_is_a_failure_and_what_is_new_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong: dict[str, Any] = {"name": "work", "status": "disagrees", "note": "answer is 1 from the reference"}
    other = {**OK, "name": "another"}
    both_old, both_new = Pretender([OK, other], 1.0), Pretender([wrong, other], 1.0)
    assert outcome(monkeypatch, tmp_path, both_old, both_new) == 1
    assert "does no more: work" in capsys.readouterr().out
    assert outcome(monkeypatch, tmp_path, both_new, both_old) == 0
    assert "disagrees before: answer is 1" in capsys.readouterr().out
