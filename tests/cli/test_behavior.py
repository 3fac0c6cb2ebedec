"""Terminals, interruptions and exit codes."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from softcount.cli import training
from softcount.cli.console import Progress
from softcount.cli.wording import did_you_mean, printable, shortened
from softcount.estimators.table import TableClassifier

Command = Callable[..., int]


def on_a_terminal(
    arguments: list[str], folder: Path, *, program: Sequence[str] = ("-m", "softcount.cli"), **environment: str
) -> tuple[int, bytes]:
    """Exit code, and what a command showed on a terminal that is its standard error."""
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *program, *arguments],
        stderr=follower,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    return process.wait(timeout=120), shown


def test_a_bar_is_shown_on_a_terminal_and_gone_at_the_end(trained: Path, messages: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal(["predict", str(trained), "messages.csv", "-o", "out.csv"], tmp_path)
    assert code == 0
    assert b"predicting messages.csv" in shown
    assert b"\x1b[" in shown
    assert shown.rstrip().endswith(b"847 predictions written to out.csv")


def test_the_time_left_is_shown_as_soon_as_the_end_is_known(tmp_path: Path) -> None:
    script = (
        "import time; from softcount.cli.console import Console\n"
        "with Console().progress('reading') as progress:\n"
        "    for done in range(9): progress.read(done, 10); time.sleep(0.15)\n"
    )
    code, shown = on_a_terminal([], tmp_path, program=["-c", script])
    plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown)
    assert code == 0
    assert re.search(rb"reading .* \d:\d\d:\d\d \d:\d\d:\d\d", plain)  # so far, and left


def test_training_shows_its_steps_and_how_long_they_take(messages: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal(["train", "messages.csv", "--jobs", "1"], tmp_path, COLUMNS="150")
    assert code == 0
    # Steps that are over at once are not drawn.
    assert re.search(rb"reading .*(counting words|choosing the event model|cross-validation, |learning) ", shown, re.S)
    assert re.search(rb"\d:\d\d:\d\d", shown)
    # The bar is gone at the end, and the answer is whole.
    assert shown.rstrip().endswith(b"Next: softcount predict messages.softcount NEW.csv -o predictions.csv")


def test_folds_tell_how_far_a_fit_is() -> None:
    seen: list[tuple[Any, ...]] = []

    class Bar:
        def update(self, task: Any, **what: Any) -> None:
            seen.append(tuple(what.items()))

    progress = Progress(Bar(), 0)
    training.tell_step(progress, "cross-validation, fold 3 of 10 (6 labeled rows held out)")
    training.tell_step(progress, "cross-validation, once more folds 6 to 10 of 20 (6 labeled rows held out)")
    training.tell_step(progress, "learning")
    assert seen[1] == (("completed", 2), ("total", 10))
    assert seen[3] == (("completed", 5), ("total", 20))
    assert seen[5] == (("completed", 0), ("total", None))


def test_quiet_and_dumb_terminals_get_no_bar(trained: Path, messages: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal(["predict", str(trained), "messages.csv", "-o", "out.csv", "-q"], tmp_path)
    assert (code, shown) == (0, b"")
    code, shown = on_a_terminal(["predict", str(trained), "messages.csv", "-o", "out.csv"], tmp_path, TERM="dumb")
    assert code == 0
    assert b"\x1b" not in shown


def test_without_color_nothing_is_bold(messages: Path, tmp_path: Path) -> None:
    _, shown = on_a_terminal(["train", "messages.csv"], tmp_path, NO_COLOR="1")
    assert b"How good it is" in shown
    assert b"\x1b[1m" not in shown


def test_an_interrupted_training_writes_nothing(
    command: Command, messages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(self: Any, *_: Any, **__: Any) -> None:
        self.interrupted_ = True

    monkeypatch.setattr(TableClassifier, "fit", interrupted)
    assert command("train", "messages.csv", "-q") == 130
    assert "nothing was written" in capsys.readouterr().err
    assert list(Path().iterdir()) == [Path("messages.csv")]


def test_strict_tells_by_the_exit_code_that_a_fit_has_not_converged(
    command: Command, messages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make = training.make_classifier

    def hasty(*arguments: Any, **options: Any) -> TableClassifier:
        return make(*arguments, **options).set_params(max_iter=1, tol=0.0, unlabeled_weight=1.0)

    monkeypatch.setattr(training, "make_classifier", hasty)
    assert command("train", "messages.csv", "--strict") == 4
    assert "has not converged" in capsys.readouterr().err
    assert command("train", "messages.csv") == 0


def test_a_folder_that_cannot_be_written_to_is_told_before_training(command: Command, messages: Path) -> None:
    assert command("train", "messages.csv", "-o", "nowhere/m.softcount") == 2


def test_an_unforeseen_error_is_a_sentence_and_not_a_traceback(
    command: Command, messages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(TableClassifier, "fit", broken)
    monkeypatch.delenv("SOFTCOUNT_DEBUG", raising=False)
    assert command("train", "messages.csv") == 1
    assert "ZeroDivisionError: boom" in capsys.readouterr().err


def test_a_model_saved_from_python_is_told_apart_from_one_of_the_command_line(
    command: Command, messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import softcount

    softcount.BernoulliNB().fit([[0, 1], [1, 0]], ["a", "b"]).save("python.softcount")
    assert command("predict", "python.softcount", "messages.csv") == 2
    assert "saved from Python" in capsys.readouterr().err
    assert command("info", "python.softcount") == 0
    Path("junk.softcount").write_bytes(b"\0" * 100)
    assert command("info", "junk.softcount") == 3


def test_a_table_classifier_saved_from_python_serves_on_the_command_line(
    command: Command, messages: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import softcount

    model = softcount.load(trained)
    del model.origin_
    model.save("python.softcount")
    assert command("info", "python.softcount") == 0
    assert command("evaluate", "python.softcount", "messages.csv") == 2
    assert command("evaluate", "python.softcount", "messages.csv", "--label", "label") == 0


def test_completion_offers_the_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from softcount.cli import main; main()"],
        env={**os.environ, "_SOFTCOUNT_COMPLETE": "bash_complete", "COMP_WORDS": "softcount tr", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "plain,train\n"


def test_words_are_made_safe_and_short() -> None:
    assert printable("a\x1b[31m\u202eb") == "a\ufffd[31m\ufffdb"
    assert shortened("one\n two  three", 9) == "one two …"
    assert did_you_mean("LABLE", ["label", "text"]) == "; did you mean 'label'?"
    assert did_you_mean("qqq", ["label"]) == "."
