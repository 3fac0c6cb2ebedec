"""The whole job, as a user does it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import softcount
from softcount.estimators.table import TableClassifier


def test_training_writes_a_model_and_says_what_it_did(
    shell: Callable[..., "subprocess.CompletedProcess[bytes]"], messages: Path
) -> None:
    done = shell("train", "messages.csv", "--label", "label")
    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert done.stdout == b"Model written to messages.softcount\nReport written to messages.report.html\n"
    assert "847 rows, 60 with a label, 787 without; labels are those of 'label'" in told
    assert "id      id" in told
    assert "text    text" in told
    assert "accuracy" in told
    assert "Next: softcount predict messages.softcount" in told
    assert b"\x1b" not in done.stderr  # no terminal, so neither colors nor bars
    assert isinstance(softcount.load(messages.with_suffix(".softcount")), TableClassifier)


def test_predictions_come_out_of_a_pipe_as_they_went_in(
    shell: Callable[..., "subprocess.CompletedProcess[bytes]"], trained: Path
) -> None:
    table = 'text,who\n"win a free prize, claim now",ann\nsee you at lunch,"bob\nsmith"\n'
    done = shell("predict", trained, "-", stdin=table.encode())
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [row["who"] for row in rows] == ["ann", "bob\nsmith"]
    assert [row["prediction"] for row in rows] == ["spam", "ham"]
    assert all(0.5 <= float(row["probability"]) <= 1.0 for row in rows)


def test_the_json_of_training_has_a_schema_and_nothing_else_is_on_standard_output(
    command: Callable[..., int], messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("train", "messages.csv", "--json", "--quiet") == 0
    out = capsys.readouterr()
    content = json.loads(out.out)
    assert out.err == ""
    assert content["schema"] == "softcount.report/1"
    assert content["job"] == "train"
    assert content["n_rows"] == 847
    assert {c["name"]: c["n_labels"] for c in content["classes"]} == {"ham": 35, "spam": 25}
    assert 0.8 < content["evaluation"]["accuracy"] <= 1.0
    assert [column["role"] for column in content["columns"]] == ["id", "text"]


def test_all_formats_give_the_same_predictions(
    command: Callable[..., int], trained: Path, messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("predict", trained, "messages.csv", "-o", "a.parquet", "--quiet") == 0
    assert command("predict", trained, "a.parquet", "-o", "b.jsonl", "--quiet", "--only-answers") == 0
    assert command("predict", trained, "messages.csv", "-o", "c.csv", "--quiet") == 0
    records = [json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]
    with Path("c.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(records) == len(rows) == 847
    assert [record["prediction"] for record in records] == [row["prediction"] for row in rows]
    assert [record["probability"] for record in records] == [float(row["probability"]) for row in rows]


def test_the_same_command_gives_the_same_model_bit_for_bit(
    command: Callable[..., int], messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("train", "messages.csv", "--quiet", "-o", "a.softcount", "--jobs", "1") == 0
    assert command("train", "messages.csv", "--quiet", "-o", "b.softcount", "--jobs", "2") == 0
    for name in "ab":
        assert command("predict", f"{name}.softcount", "messages.csv", "-o", f"{name}.csv", "--quiet") == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_cells_that_spreadsheets_take_for_formulas_are_neutralized_unless_asked_otherwise(
    command: Callable[..., int], trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = ["=1+1", "+cmd", "-2", "@sum", "\tx", "plain", "\x00z"]
    with Path("new.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "note"], *[["hello there", cell] for cell in cells]])
    assert command("predict", trained, "new.csv", "-o", "safe.csv", "-q") == 0
    assert command("predict", trained, "new.csv", "-o", "raw.csv", "-q", "--raw") == 0

    def notes(name: str) -> list[str]:
        with Path(name).open(newline="") as file:
            return [row["note"] for row in csv.DictReader(file)]

    assert notes("safe.csv") == ["'=1+1", "'+cmd", "-2", "'@sum", "'\tx", "plain", "'\x00z"]
    assert notes("raw.csv") == cells


def test_evaluation_explanation_and_top_words_agree_with_the_model(
    command: Callable[..., int], trained: Path, messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("evaluate", trained, "messages.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)["evaluation"]
    assert found["n_rows"] == 60
    assert sum(map(sum, found["confusion"])) == 60
    assert command("explain", trained, "messages.csv", "--row", "1", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    parts = told["baseline"] + told["rest"] + sum(item["score"] for item in told["evidence"])
    assert told["where"] == "line 2"
    assert parts == pytest.approx(told["total"])
    assert command("top", trained, "--most", "3", "--json") == 0
    top = json.loads(capsys.readouterr().out)["top"]
    assert [len(top[name]) for name in ("ham", "spam")] == [3, 3]
    assert command("info", trained) == 0
    assert "sha256" in capsys.readouterr().out


def test_the_demo_does_the_whole_job(command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert command("demo") == 0
    out = capsys.readouterr()
    assert "accuracy" in out.out
    assert out.out.splitlines()[-3:] == [
        f"Predictions: {Path('softcount-demo/predictions.csv')}",
        f"Report: {Path('softcount-demo/messages.report.html')}",
        f"Model: {Path('softcount-demo/messages.softcount')}",
    ]
    assert sorted(path.name for path in Path("softcount-demo").iterdir()) == [
        "messages.csv",
        "messages.report.html",
        "messages.softcount",
        "new.csv",
        "predictions.csv",
    ]


def test_settings_come_from_a_toml_file_and_options_win(
    command: Callable[..., int], messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.toml").write_text('label = "label"\nwords = "1-2"\nmin-rows = 2\nalpha = 0.5\n[columns]\nid = "number"\n')
    assert command("train", "messages.csv", "--config", "s.toml", "--alpha", "0.25", "--json", "-q") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["alpha"] == 0.25
    assert content["columns"][0] == {"name": "id", "role": "number", "reason": "as asked", "missing_share": 0.0}
    model = softcount.load("messages.softcount")
    assert any(" " in name.removeprefix("text: ") for name in model.treatment_.feature_names())
    Path("s.toml").write_text('lable = "x"\n')
    assert command("train", "messages.csv", "--config", "s.toml") == 2
    assert "did you mean 'label'?" in capsys.readouterr().err


def test_a_dry_run_writes_nothing(
    command: Callable[..., int], messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("train", "messages.csv", "--dry-run") == 0
    assert "about 16 words a cell" in capsys.readouterr().out
    assert not Path("messages.softcount").exists()


def test_data_is_never_overwritten_by_a_model_or_by_predictions(
    command: Callable[..., int], trained: Path, messages: Path
) -> None:
    before = messages.read_bytes()
    assert command("train", "messages.csv", "-o", "messages.csv") == 2
    assert command("predict", trained, "messages.csv", "-o", "messages.csv") == 2
    assert messages.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path, trained: Path) -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "softcount.cli", "predict", str(trained), "-", "-o", "out.csv"],
        stdin=reader,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    os.close(reader)
    os.write(writer, b"text\nhello\n")
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(".out.csv.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    os.close(writer)
    assert process.returncode == 130
    assert b"Interrupted" in told
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_has_had_enough_is_no_error(trained: Path, messages: Path) -> None:
    line = f"{sys.executable} -m softcount.cli predict {trained} {messages} | head -n 2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 2


def test_a_pattern_gives_a_role_to_many_columns_and_names_go_before_it(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        ("label", "age", "q1", "q2", "q3"),
        *[("ab"[i % 2], 20 + 3 * (i % 17), i % 3, i % 4, i % 5) for i in range(60)],
    ]
    with (tmp_path / "survey.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    told = ("--role", "q1=category", "--role", "q*=number", "--ignore", "*3")
    assert command("train", "survey.csv", *told, "--dry-run", "--json") == 0
    roles = {column["name"]: column["role"] for column in json.loads(capsys.readouterr().out)["columns"]}
    assert roles == {"age": "number", "q1": "category", "q2": "number", "q3": "ignore"}
    assert command("train", "survey.csv", "--role", "z*=number") == 2
    assert "'z*', which is not there" in capsys.readouterr().err
