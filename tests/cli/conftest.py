"""The command as a user runs it, and a table to run it on."""

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from softcount.cli.program import run
from softcount.demo import load_messages

Shell = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Runs the installed command in a process of its own, in an empty folder."""
    script = Path(sys.executable).with_name("softcount")
    start = [str(script)] if script.exists() else [sys.executable, "-m", "softcount.cli"]

    def call(
        *arguments: object, stdin: bytes | None = None, **environment: str
    ) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [*start, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            check=False,
            timeout=300,
        )

    return call


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs the command inside the test process, which is quicker; returns the exit code."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> int:
        return run([str(argument) for argument in arguments])

    return call


@pytest.fixture(scope="session")
def message_rows() -> list[tuple[str, str, str]]:
    """Number, label (most of them empty) and text of the embedded messages."""
    texts, labels = load_messages()
    return [(str(i), label if i < 60 else "", text) for i, (label, text) in enumerate(zip(labels, texts, strict=True))]


@pytest.fixture
def messages(tmp_path: Path, message_rows: list[tuple[str, str, str]]) -> Path:
    """A CSV file of messages, 60 of them labeled."""
    path = tmp_path / "messages.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "label", "text"), *message_rows])
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, message_rows: list[tuple[str, str, str]]) -> Path:
    """A model of the messages; tests only read it."""
    folder = tmp_path_factory.mktemp("trained")
    path = folder / "messages.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "label", "text"), *message_rows])
    assert run(["train", str(path), "--quiet"]) == 0
    return folder / "messages.softcount"
