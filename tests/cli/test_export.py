"""Tables of answers: what spreadsheets would run is defused, what JSON does not know is null, types stay."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest

from softcount.cli.export import neutral, table_writer


def written(kind: str, *pieces: dict[str, list[Any]], raw: bool = False) -> bytes:
    file = io.BytesIO()
    writer = table_writer(file, kind, raw=raw)
    for piece in pieces:
        writer.write(piece)
    writer.close()
    return file.getvalue()


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_every_character_that_begins_a_formula_is_defused(first: str) -> None:
    assert neutral(first + "cmd") == "'" + first + "cmd"


@pytest.mark.parametrize("cell", ["-1", "+2.5e-3", "-.5", "1=2", "a@b", "", 3.0, -1, None])
def test_numbers_and_other_cells_stay_as_they_are(cell: Any) -> None:
    assert neutral(cell) == cell


def test_names_of_columns_are_defused_as_well() -> None:
    assert written("csv", {"=x": [1]}).splitlines()[0] == b"'=x"
    assert written("csv", {"=x": [1]}, raw=True).splitlines()[0] == b"=x"


def test_numbers_that_are_none_are_null_in_json() -> None:
    rows = [
        json.loads(line)
        for line in written("jsonl", {"p": [0.5, math.nan, math.inf], "y": ["a", None, "b"]}).splitlines()
    ]
    assert rows == [{"p": 0.5, "y": "a"}, {"p": None, "y": None}, {"p": None, "y": "b"}]


def test_a_column_that_begins_without_a_value_may_hold_texts_later() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = written("parquet", {"a": [1, 2], "y": [None, None]}, {"a": [3], "y": ["late"]})
    assert parquet.read_table(io.BytesIO(found)).to_pydict() == {"a": [1, 2, 3], "y": [None, None, "late"]}
