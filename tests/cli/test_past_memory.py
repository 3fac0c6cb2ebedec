"""Tables that are read piece by piece, folders of Parquet files, clusters and checkpoints on the command line."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import softcount
from softcount.cli.program import _tell
from studies.checkpoints.jobs import bits_of


def folder_of_parquet(path, rows, per_file=200):
    """The rows as a folder of Parquet files."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path.mkdir()
    numbers, labels, texts = zip(*rows, strict=True)
    table = pa.table({"id": numbers, "label": [name or None for name in labels], "text": texts})
    for number, start in enumerate(range(0, table.num_rows, per_file)):
        pq.write_table(table.slice(start, per_file), path / f"part-{number}.parquet", row_group_size=90)
    return path


def texts_of(rows):
    return {"id": [row[0] for row in rows], "text": [row[2] for row in rows]}


def assert_says_the_same(one, other, rows):
    first, second = softcount.load(one), softcount.load(other)
    np.testing.assert_allclose(
        second.predict_proba(texts_of(rows)), first.predict_proba(texts_of(rows)), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("way", [["--in-pieces"], ["--at-once"], ["--dask", "local"]])
def test_a_folder_of_parquet_files_is_a_table(command, tmp_path, message_rows, trained, way):
    folder = folder_of_parquet(tmp_path / "rows", message_rows)
    assert command("train", folder, "-o", "model.softcount", "--report", "report.json", "--quiet", *way) == 0
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["n_rows"] == len(message_rows)
    assert told["n_labeled"] == 60
    assert_says_the_same(trained, tmp_path / "model.softcount", message_rows)
    assert command("predict", "model.softcount", folder, "-o", "out.csv", "--quiet") == 0
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        answers = list(csv.DictReader(file))
    assert [row["id"] for row in answers] == [row[0] for row in message_rows]
    assert command("evaluate", "model.softcount", folder, "--quiet") == 0


@pytest.fixture
def address(cluster_client):
    return cluster_client.scheduler.address


def test_a_cluster_predicts_and_evaluates_what_one_machine_does(command, message_rows, trained, address, capsys):
    tmp_path = Path.cwd()
    folder = folder_of_parquet(tmp_path / "rows", message_rows)
    for name, more in (("here", ()), ("there", ("--dask", address))):
        assert command("predict", trained, folder, "-o", f"{name}.csv", "--probabilities", "--quiet", *more) == 0
        assert command("evaluate", trained, folder, "--json", "--report", f"{name}.json", "--quiet", *more) == 0
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    assert (tmp_path / "here.csv").read_text(encoding="utf-8").count("\n") > len(message_rows)
    here, there = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("here", "there"))
    assert here["n_rows"] == len(message_rows)
    for what in ("n_rows", "n_labeled", "evaluation", "suspects", "classes"):
        assert here.get(what) == there.get(what)
    assert here["evaluation"]["n_rows"] == 60
    capsys.readouterr()
    assert command("evaluate", trained, folder, "--label", "text", "--dask", address) == 3
    assert "row 1 has the label" in capsys.readouterr().err
    assert command("predict", trained, folder, "--only-answers", "--dask", address, "--quiet") == 0
    assert capsys.readouterr().out.count("\n") == len(message_rows) + 1


def test_a_csv_file_is_read_in_pieces_when_asked(command, tmp_path, messages, message_rows, trained):
    assert command("train", messages, "-o", "model.softcount", "--in-pieces", "--quiet") == 0
    assert (tmp_path / "model.report.html").exists()
    assert_says_the_same(trained, tmp_path / "model.softcount", message_rows)


def test_a_training_that_ended_is_taken_up_to_the_same_bits(command, tmp_path, messages):
    for name in ("first", "again"):
        more = ("--resume",) if name == "again" else ()
        arguments = ("--checkpoint", "kept", *more, "-o", f"{name}.softcount", "--no-report", "--quiet")
        assert command("train", messages, *arguments) == 0
    one, other = softcount.load(tmp_path / "first.softcount"), softcount.load(tmp_path / "again.softcount")
    for mine, theirs in zip(one.params_.blocks, other.params_.blocks, strict=True):
        for name, values in mine.items():
            assert values.tobytes() == theirs[name].tobytes()
    assert list((tmp_path / "kept").iterdir())


def write_survey(path):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 300)
    answers = np.where(rng.random((300, 4)) < np.array([0.2, 0.8])[kind, None], "yes", "no")
    lines = [f"{','.join(row)},{kind[i] + rng.poisson(2)}" for i, row in enumerate(answers)]
    path.write_text("\n".join(["q1,q2,q3,q4,visits", *lines]), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cluster", ("-k", "2:3", "--starts", "4", "--ignore", "visits")),
        ("glm", ("visits ~ q1 + q2", "--family", "negative_binomial")),
    ],
)
def test_groups_and_regressions_that_ended_are_taken_up_to_the_same_bits(
    command, tmp_path, monkeypatch, name, arguments
):
    from softcount.core.execute import ThreadExecutor

    write_survey(tmp_path / "survey.csv")
    passes, reduce = [], ThreadExecutor.reduce

    def counted(self, *given, **settings):
        passes.append(1)
        return reduce(self, *given, **settings)

    monkeypatch.setattr(ThreadExecutor, "reduce", counted)
    models, counts = [], []
    for more in ((), ("--resume",)):
        passes.clear()
        how = (*arguments, "--checkpoint", "kept", *more, "-m", "model.softcount", "--quiet")
        assert command(name, "survey.csv", *how) == 0
        counts.append(len(passes))
        models.append(bits_of(softcount.load(tmp_path / "model.softcount")))
    assert models[0] == models[1]
    assert counts[1] < counts[0] / 2
    assert command(name, "survey.csv", *arguments, "--checkpoint", "kept", "--quiet") != 0


def test_what_does_not_go_together_is_refused(command, tmp_path, messages, trained, capsys):
    assert command("train", messages, "--resume") == 2
    assert "give that as well" in capsys.readouterr().err
    assert command("train", messages, "--dask", "local") == 2
    assert "--dask reads Parquet files and folders, and this is csv" in capsys.readouterr().err
    assert command("predict", trained, messages, "--dask", "local", "--jobs", "2") == 2
    assert "give one of them" in capsys.readouterr().err
    assert command("predict", trained, messages, "--dask", "local") == 2
    assert "--dask reads Parquet files and folders, and this is csv" in capsys.readouterr().err
    for name in ("cluster", "glm"):
        assert command(name, messages, *(["text ~ 1"] if name == "glm" else []), "--resume") == 2
        assert "give that as well" in capsys.readouterr().err
    assert command("train", messages, messages, "--in-pieces") == 2
    assert "one file or folder" in capsys.readouterr().err
    assert command("train", messages, "--checkpoint", "kept", "--no-report", "--quiet") == 0
    assert command("train", messages, "--checkpoint", "kept", "--no-report", "--quiet") != 0
    assert "resume" in capsys.readouterr().err


def test_a_lost_cluster_is_told_in_its_own_words(capsys):
    assert _tell(ConnectionError("The Dask cluster was lost.")) == 1
    assert capsys.readouterr().err == "Error: The Dask cluster was lost.\n"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device"), "No space left on device, while a file was read or written."),
        (OSError(13, "Permission denied", "there.csv"), "there.csv: Permission denied."),
        (FileNotFoundError("'x/y' cannot be written. Make 'x' first."), "'x/y' cannot be written. Make 'x' first."),
    ],
)
def test_what_the_system_says_is_told_as_a_sentence(error, told, capsys):
    assert _tell(error) == 1
    assert capsys.readouterr().err == f"Error: {told}\n"


@pytest.mark.parametrize(
    ("more", "told"),
    [((), "nothing was written"), (("--checkpoint=kept",), "with --resume the fit goes on from its checkpoints")],
)
def test_an_interruption_says_what_is_left_of_the_fit(command, messages, monkeypatch, capsys, *, more, told):
    from softcount.estimators.table import TableClassifier

    def interrupted(*given, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(TableClassifier, "fit", interrupted)
    assert command("train", messages, "--label", "label", "--quiet", *more) == 130
    assert f"Interrupted; {told}." in capsys.readouterr().err
