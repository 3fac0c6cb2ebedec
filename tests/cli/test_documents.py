"""The documents of --json have the fields that the reference lists."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "report-json.md"


def listed() -> dict[str, list[str]]:
    """Fields by schema, as the reference has them."""
    text = REFERENCE.read_text(encoding="utf-8").split("## Other documents")[1]
    rows = re.findall(r"^\| `(softcount\.\w+/1)` \|.*\| (.*) \|$", text, re.MULTILINE)
    return {schema: re.findall(r"`(\w+)`", fields) for schema, fields in rows}


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Answers of two kinds of people, and a number."""
    path = tmp_path / "survey.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "q1", "q2", "q3", "visits"])
        for i in range(80):
            answers = ["yes" if (i % 2 == 0) != (i % (5 + k) == 0) else "no" for k in range(3)]
            writer.writerow(["ab"[i % 2], *answers, i % 7 + i % 2])
    return path


COMMANDS = {
    "softcount.columns/1": ("train", "survey.csv", "-l", "kind", "--dry-run"),
    "softcount.cluster/1": ("cluster", "survey.csv", "--ignore", "kind", "-k", "1:2"),
    "softcount.compare/1": ("compare", "survey.csv", "-l", "kind", "--sizes", "10,40", "--repeats", "2"),
    "softcount.glm/1": ("glm", "survey.csv", "visits ~ q1", "--family", "poisson"),
    "softcount.explain/1": ("explain", "m.softcount", "survey.csv", "--row", "1"),
    "softcount.top/1": ("top", "m.softcount"),
    "softcount.info/1": ("info", "m.softcount"),
}


def test_every_document_is_listed() -> None:
    assert set(listed()) == set(COMMANDS)


@pytest.mark.parametrize("schema", COMMANDS)
def test_a_document_has_the_fields_that_the_reference_lists(
    schema: str, survey: Path, command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    if "m.softcount" in COMMANDS[schema]:
        assert command("train", "survey.csv", "-l", "kind", "-o", "m.softcount", "--no-report", "-q") == 0
        capsys.readouterr()
    if schema == "softcount.glm/1":
        pytest.importorskip("formulaic", reason="formulas need the extra 'formula'")
    assert command(*COMMANDS[schema], "--json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document.pop("schema") == schema
    assert list(document) == listed()[schema]
