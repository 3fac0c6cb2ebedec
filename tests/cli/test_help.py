"""What the command says about itself, and how lightly."""

import subprocess
import sys
from pathlib import Path

import pytest

import softcount
from softcount.cli.program import COMMANDS, run

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_as_it_was_last_agreed(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([name, "--help"] if name else ["--help"]) == 0
    expected = (GOLDEN / f"{name or 'softcount'}.txt").read_text(encoding="utf-8")
    assert capsys.readouterr().out == expected


def test_help_and_version_import_neither_numpy_nor_scikit_learn() -> None:
    code = (
        "import sys; from softcount.cli.program import run; "
        "assert run(['--help']) == 0 and run(['--version']) == 0 and run(['train', '--help']) == 0; "
        "print(sorted({'numpy', 'sklearn', 'scipy', 'pyarrow', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert softcount.__version__ in done.stdout


def test_every_listed_command_has_a_module_with_a_command() -> None:
    for name in COMMANDS:
        assert run([name, "--help"]) == 0


def test_no_arguments_is_wrong_usage_and_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err


def test_a_misspelled_command_is_answered_with_the_one_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trian", "x.csv"]) == 2
    assert "did you mean 'train'?" in capsys.readouterr().err
