"""Reports on the command line: where they go, and what happens where they cannot."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from softcount.report import as_html

Command = Callable[..., int]


def test_training_writes_a_report_beside_the_model_that_can_be_made_again(
    command: Command, messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("train", "messages.csv", "--label", "label", "-o", "m.softcount") == 0
    assert "Report written to m.report.html" in capsys.readouterr().out
    page = Path("m.report.html").read_text(encoding="utf-8")
    typed = re.search(r'<pre id="command">(.*?)</pre>', page)
    assert typed is not None
    assert typed[1] == "softcount train messages.csv --label label -o m.softcount"
    assert command(*typed[1].split()[1:]) == 0
    # The model file tells how long each step took, so that its fingerprint is another one.
    made = re.compile(r"<dt>(Made|Its SHA-256)</dt><dd>.*?</dd>")
    assert made.sub("", Path("m.report.html").read_text(encoding="utf-8")) == made.sub("", page)


def test_a_report_is_html_json_or_text_as_its_name_says(
    command: Command, trained: Path, messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("r.html", "r.json", "r.txt"):
        assert command("evaluate", trained, "messages.csv", "--report", name, "--quiet") == 0
    capsys.readouterr()
    assert command("evaluate", trained, "messages.csv", "--json") == 0
    printed, written = json.loads(capsys.readouterr().out), json.loads(Path("r.json").read_text())
    for content in (printed, written):
        del content["created"], content["command"]
    assert printed == written
    assert (printed["job"], printed["next"], printed["n_rows"], printed["n_labeled"]) == ("evaluate", None, 847, 60)
    assert Path("r.html").read_text().startswith("<!DOCTYPE html>")
    assert "Right about" in Path("r.txt").read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("r.pdf", "ends in .html, .json or .txt"),
        ("nowhere/r.html", "there is no folder"),
        ("messages.csv", "ends in"),
        (".", "ends in"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_training(
    command: Command, messages: Path, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    assert command("train", "messages.csv", "--report", name) == 2
    assert told in capsys.readouterr().err
    assert not Path("messages.softcount").exists()


def test_a_report_never_replaces_data_or_model(command: Command, messages: Path) -> None:
    Path("data.json").write_bytes(messages.read_bytes())
    assert command("train", "data.json", "--format", "csv", "--report", "data.json") == 2
    assert command("train", "messages.csv", "-o", "m.html", "--report", "m.html") == 2
    assert command("train", "messages.csv", "--report", "r.html", "--no-report") == 2


def test_without_the_template_engine_training_says_so_and_succeeds(
    command: Command, messages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(as_html, "can_render_html", lambda: False)
    assert command("train", "messages.csv") == 0
    assert "pip install 'softcount[report]'" in capsys.readouterr().err
    assert Path("messages.softcount").exists()
    assert not Path("messages.report.html").exists()
    # Whoever asked for a page is told before the work, not after it; other formats need nothing.
    assert command("train", "messages.csv", "--report", "r.html", "-o", "other.softcount") == 1
    assert not Path("other.softcount").exists()
    assert command("train", "messages.csv", "--report", "r.json", "-q") == 0


def test_no_report_means_no_report(command: Command, messages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("train", "messages.csv", "--no-report", "-q") == 0
    assert sorted(path.name for path in Path().iterdir()) == ["messages.csv", "messages.softcount"]


def test_evaluation_in_pieces_finds_the_rows_of_the_whole(
    command: Command, trained: Path, messages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from softcount.cli.readers import csv_file

    assert command("evaluate", trained, "messages.csv", "--json", "-q") == 0
    whole = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(csv_file, "PIECE_ROWS", 20)
    assert command("evaluate", trained, "messages.csv", "--json", "-q") == 0
    pieces = json.loads(capsys.readouterr().out)
    assert pieces["suspects"].pop("n_expected") == pytest.approx(whole["suspects"].pop("n_expected"))
    assert pieces["least_sure"] == whole["least_sure"]
    assert pieces["suspects"] == whole["suspects"]


def test_training_names_a_few_rows_to_label_next_and_the_report_has_more(
    shell: Callable[..., "subprocess.CompletedProcess[bytes]"], messages: Path
) -> None:
    done = shell("train", "messages.csv", "--report", "r.json")
    told = done.stderr.decode().split("What to label next\n")[1].split("\n\n")[0].splitlines()
    rows = json.loads(messages.with_name("r.json").read_text())["next"]["rows"]
    assert [line.split(":")[0] for line in told] == [row["where"] for row in rows[:3]]
    assert len(rows) > 3


def test_a_wide_table_of_long_cells_and_many_classes_gives_a_report_below_five_megabytes(command: Command) -> None:
    names = [f"<script>{'x' * 300}{j}</script>" for j in range(2_000)]
    rows = [
        [f"class {i % 100} {'y' * 500}"]
        + [f"words {i} of {j} " * (500 if j < 3 else 2) if j % 50 == 0 else f"v{i * j % 7}" for j in range(2_000)]
        for i in range(200)
    ]
    lines = [",".join(cells) for cells in [["label", *names], *rows]]
    Path("wide.csv").write_text("\n".join(lines), encoding="utf-8")
    assert command("train", "wide.csv", "--label", "label", "-q") == 0
    assert 100_000 < Path("wide.report.html").stat().st_size < as_html.MOST_BYTES
