"""The JSON of a report: its schema as it was last agreed, documented field by field."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from softcount.report.as_json import content_of, render_json
from softcount.report.as_text import render_text
from softcount.report.data import SCHEMA, Report
from tests.report.conftest import make_report

GOLDEN = Path(__file__).parent / "golden"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "report-json.md"


def fields(value: Any, path: str = "") -> set[str]:
    """Every path in a document with the type of what is there."""
    if isinstance(value, dict):
        if path == "versions":
            return {"versions: object"}
        return set().union(*(fields(item, f"{path}.{key}".lstrip(".")) for key, item in value.items()))
    if isinstance(value, list):
        return set().union({f"{path}: list"}, *(fields(item, f"{path}[]") for item in value))
    name = {str: "text", bool: "boolean", int: "whole number", float: "number", type(None): "null"}[type(value)]
    return {f"{path}: {name}"}


def test_the_schema_is_as_it_was_last_agreed(example: Report) -> None:
    """A field that is renamed, removed or of another type is a new version of the schema."""
    assert SCHEMA == "softcount.report/1"
    content = json.loads(render_json(example))
    assert "\n".join(sorted(fields(content))) + "\n" == (GOLDEN / "report-1-fields.txt").read_text(encoding="utf-8")
    assert next(iter(content)) == "schema"


def test_every_field_is_documented(example: Report) -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = {part for name in re.findall(r"`([\w.,\[\] ]+)`", page) for part in re.split(r"[.,\[\] ]+", name)}
    parts = {part for path in fields(content_of(example)) for part in re.split(r"[.\[\]]+", path.partition(":")[0])}
    assert parts - named - {""} == set()


def test_what_is_not_finite_is_null_and_what_is_not_ascii_is_escaped() -> None:
    report = replace(make_report(lambda place: f"é\u2028 {place}"), alpha=math.nan)
    text = render_json(report)
    assert text.isascii()
    assert json.loads(text)["alpha"] is None
    assert json.loads(text)["label"] == "é\u2028 label column"


def test_the_text_has_the_verdict_first_and_steers_no_terminal() -> None:
    text = render_text(make_report(lambda place: f"\x1b[2J{place}"))
    assert "\x1b" not in text
    assert "headline" in text.splitlines()[0]
    for title in ("What would help most", "Labels that look wrong", "What to label next", "Columns"):
        assert f"\n{title}" in text
    assert text.rstrip().endswith("softcount 0.1, python 3.11")
