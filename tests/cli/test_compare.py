"""Learning curves of two kinds of model from the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from softcount.estimators.table.text import TextOptions
from softcount.estimators.table.treatment import Treatment
from softcount.estimators.table.twins import CodedTable, NumberedNaiveBayes, discriminative_twin
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import decide_roles

Command = Callable[..., int]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Words, a category and a number, each of which tells something of the class; some rows without a label."""
    rng = np.random.default_rng(0)
    lines = ["text,color,size,label"]
    for i in range(240):
        good = i % 2 == 0
        words = rng.choice(["sun", "sea", "rain", "mud"], 5, p=[0.4, 0.3, 0.2, 0.1] if good else [0.1, 0.2, 0.3, 0.4])
        color = "red" if rng.random() < (0.8 if good else 0.3) else "blue"
        label = "" if i % 10 == 9 else "good" if good else "bad"
        lines.append(f"{' '.join(words)},{color},{rng.normal(good, 1.0):.3f},{label}")
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_curves_of_a_mixed_table_fall_and_are_told_in_words_and_numbers(
    command: Command, mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("compare", "mixed.csv", "--sizes", "6,100", "--repeats", "6")
    assert command(*arguments, "--json", "-q") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "softcount.compare/1"
    assert content["models"] == ["naive Bayes", "logistic regression"]
    errors = np.array(content["errors"])
    assert (errors[:, 1] < errors[:, 0]).all()
    assert (errors[:, 1] < 0.3).all()
    assert command(*arguments) == 0
    told = capsys.readouterr()
    assert content["finding"].split()[-1] in told.out
    assert "training rows" in told.out
    assert "24 rows without a label take no part" in told.err
    assert "Next:" in told.err or "LogisticRegression" in told.err


def test_the_figure_is_drawn_whole(command: Command, mixed: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawing needs matplotlib")
    assert command("compare", "mixed.csv", "--sizes", "6,50", "--repeats", "2", "--figure", "f.svg", "-q") == 0
    text = Path("f.svg").read_text()
    assert text.startswith("<?xml")
    assert text.rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sizes", "a,b"), "expected whole numbers"),
        (("--sizes", "1,100000"), "sizes is"),
        (("--figure", "f.txt"), ".svg, .png or .pdf"),
        (("--label", "labl"), "did you mean 'label'?"),
        (("--ignore", "text", "--ignore", "color", "--ignore", "size"), "no column to learn from"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    arguments: tuple[str, ...], message: str, command: Command, mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("compare", "mixed.csv", *arguments) in (2, 3)
    assert message in capsys.readouterr().err


def test_both_twins_see_the_same_table() -> None:
    columns = {"t": ["a bb cc dd", "bb cc ee ff", "ee ff gg bb", "a bb ff gg"] * 6, "c": ["x", "y", None, "x"] * 6,
               "n": ["1.5", "", "2.5", "3.75"] * 6}  # fmt: skip
    table = RawTable(columns, range(24))
    roles = decide_roles(columns, {"t": "text"})
    coded = CodedTable(*Treatment.learn(table, roles, [""], TextOptions(), 1))
    design = coded.design().toarray()
    assert design.shape[0] == 24
    labels, rows = np.array(["u", "v"] * 12), np.arange(24)[:, None]
    for model in (NumberedNaiveBayes(coded), discriminative_twin(coded)):
        model.fit(rows[:20], labels[:20])
        assert set(model.predict(rows[20:])) <= {"u", "v"}
    # A hole says nothing: the number is at its mean, and no category is marked.
    hole = design[1::4]
    present = design[0::4]
    assert (np.count_nonzero(hole == 0.0, axis=1) > 0).all()
    assert present.sum() != hole.sum()
