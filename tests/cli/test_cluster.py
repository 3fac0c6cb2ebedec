"""Groups of rows from the command line."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import softcount
from softcount.cli.clustering import read_classes
from softcount.cli.outcomes import UsageError
from softcount.estimators.table.groups import TableLatentClass, TableMixture

Command = Callable[..., int]


def survey(n: int = 300) -> list[list[str]]:
    """Rows of two plain groups: answers, a number, an identifier, a comment, and some holes."""
    rng = random.Random(0)
    rows = [["id", "q1", "q2", "size", "said", "kind"]]
    for i in range(n):
        first = i % 3 > 0
        answers = ["yes" if rng.random() < (0.9 if first else 0.1) else "no" for _ in range(2)]
        if i % 17 == 0:
            answers[0] = "?"
        size = f"{rng.gauss(10.0 if first else 20.0, 1.0):.2f}"
        rows.append([f"r{i:04d}", *answers, size, f"these are words of row {i}", "a" if first else "b"])
    return rows


@pytest.fixture
def survey_file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(survey())
    return path


def test_the_groups_that_are_there_are_found_named_and_assigned(
    command: Command, survey_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = command("cluster", survey_file, "-k", "1:4", "--ignore", "kind", "--json", "-q", "-o", "groups.csv")
    assert code == 0
    told = capsys.readouterr()
    content = json.loads(told.out)
    assert told.err == ""
    assert content["schema"] == "softcount.cluster/1"
    assert content["recommended"] == 2
    assert [c["n_components"] for c in content["candidates"]] == [1, 2, 3, 4]
    roles = {column["name"]: column["role"] for column in content["columns"]}
    assert roles == {"id": "id", "q1": "category", "q2": "category", "size": "number", "said": "ignore",
                     "kind": "ignore"}  # fmt: skip
    assert [group["share"] for group in content["groups"]] == pytest.approx([2 / 3, 1 / 3], abs=0.02)
    means = next(row for row in content["profile"] if (row["column"], row["quantity"]) == ("size", "mean"))
    assert means["groups"] == pytest.approx([10.0, 20.0], abs=0.3)
    with Path("groups.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    right = sum((row["group"] == "group 1") == (row["kind"] == "a") for row in rows)
    assert len(rows) == 300
    assert right > 295


def test_the_model_file_finds_the_groups_of_other_rows(
    command: Command, survey_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("cluster", survey_file, "-k", "2", "--ignore", "kind", "-o", "all.csv", "-q") == 0
    assert command("predict", "survey.groups.softcount", survey_file, "-o", "again.csv", "-q") == 0
    assert Path("all.csv").read_bytes() == Path("again.csv").read_bytes()
    Path("new.csv").write_text("size,q2,q1\n9.5,yes,\n21,no,no\n")
    capsys.readouterr()
    assert command("predict", "survey.groups.softcount", "new.csv", "--only-answers", "--probabilities") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "group,probability,probability of group 1,probability of group 2"
    assert [line.split(",")[0] for line in lines[1:]] == ["group 1", "group 2"]
    assert command("info", "survey.groups.softcount") == 0
    assert "groups       group 1 (67 %), group 2 (33 %)" in capsys.readouterr().out
    assert command("top", "survey.groups.softcount", "-k", "2", "--json") == 0
    assert list(json.loads(capsys.readouterr().out)["top"]) == ["group 1", "group 2"]
    assert command("evaluate", "survey.groups.softcount", survey_file) == 2
    assert "which 'softcount cluster' made" in capsys.readouterr().err


def test_a_table_of_answers_gives_latent_classes_equal_to_those_of_python(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    group = rng.random(400) < 0.4
    answers = np.where(rng.random((400, 4)) < np.where(group, 0.85, 0.2)[:, None], "yes", "no")
    Path("a.csv").write_text("a,b,c,d\n" + "".join(",".join(row) + "\n" for row in answers))
    assert command("cluster", "a.csv", "--classes", "1:3", "--json", "-q") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["estimator"] == "TableLatentClass"
    by_hand = softcount.LatentClass(2, random_state=0).fit(answers.tolist())
    found = next(c for c in content["candidates"] if c["n_components"] == 2)
    assert found["log_likelihood"] == pytest.approx(by_hand.log_likelihood_, rel=1e-8)
    assert found["bic"] == pytest.approx(by_hand.criteria()["bic"], rel=1e-8)


def test_weights_count_as_repetitions(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    rows = survey(90)
    weights = [1 + i % 3 for i in range(90)]
    Path("w.csv").write_text(
        "q1,q2,w\n" + "".join(f"{r[1]},{r[2]},{w}\n" for r, w in zip(rows[1:], weights, strict=True))
    )
    Path("r.csv").write_text(
        "q1,q2\n" + "".join(f"{r[1]},{r[2]}\n" * w for r, w in zip(rows[1:], weights, strict=True))
    )
    found = []
    for arguments in (("w.csv", "--weight", "w"), ("r.csv",)):
        assert command("cluster", *arguments, "-k", "2", "--json", "-q") == 0
        found.append(json.loads(capsys.readouterr().out)["candidates"][0])
    assert found[0]["log_likelihood"] == pytest.approx(found[1]["log_likelihood"], rel=1e-8)
    assert found[0]["bic"] == pytest.approx(found[1]["bic"], rel=1e-8)
    Path("bad.csv").write_text("q1,q2,w\nyes,no,1\nno,no,x\n")
    assert command("cluster", "bad.csv", "--weight", "w", "-k", "2") == 3
    assert "Line 3, column 'w' holds 'x'; expected a weight" in capsys.readouterr().err


def test_what_cannot_be_clustered_is_refused_with_the_reason(
    command: Command, survey_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: object) -> str:
        assert command("cluster", *arguments) in (2, 3)
        message = capsys.readouterr().err
        assert "Traceback" not in message
        assert not list(Path().glob("*.softcount"))
        return message

    assert "expected a range such as 2:8" in told(survey_file, "-k", "two")
    assert "expected a range such as 2:8" in told(survey_file, "-k", "8:2")
    assert "asks for 50 groups, but there are 3 rows" in _few_rows(told)
    assert "did you mean 'size'?" in told(survey_file, "--role", "sise=number")
    assert "would replace an input" in told(survey_file, "-o", survey_file)
    assert "cannot have the same name" in told(survey_file, "-o", "x.csv", "-m", "x.csv")
    assert "there is no folder" in told(survey_file, "-m", "nowhere/x")
    Path("words.csv").write_text("t\n" + "".join(f"these are the words of row {i}\n" for i in range(40)))
    assert "no column to find groups by" in told("words.csv")


def _few_rows(told: Callable[..., str]) -> str:
    Path("few.csv").write_text("a,b\n1,x\n2,y\n3,x\n")
    return told("few.csv", "-k", "2:50")


def test_assignments_on_standard_output_are_a_table_and_nothing_else(
    command: Command, survey_file: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert command("cluster", survey_file, "-k", "2", "-o", "-", "-q", "--ignore", "kind") == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert lines[0] == "id,q1,q2,size,said,kind,group,probability"
    assert len(lines) == 301


def test_a_range_of_groups_is_read_as_meant() -> None:
    assert read_classes("2:4,7") == (2, 3, 4, 7)
    for wrong in ("", "0", "1:", "a", "2:101", "1;2"):
        with pytest.raises(UsageError):
            read_classes(wrong)


@pytest.mark.parametrize("make", [TableMixture, TableLatentClass])
def test_models_of_groups_answer_the_same_after_a_round_trip(make: type, tmp_path: Path) -> None:
    rows = survey(60)
    table = {name: [row[j] for row in rows[1:]] for j, name in enumerate(rows[0]) if name != "said"}
    model = make(2, random_state=0).fit(table)
    model.save(tmp_path / "m")
    loaded = softcount.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.profile()[0].column == model.profile()[0].column
