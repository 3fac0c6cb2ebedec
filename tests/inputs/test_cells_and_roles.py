"""Cells as numbers and dates, and what columns are taken for."""

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softcount._errors import InputError
from softcount.inputs.cells import find_missing, number_style, parse_dates, parse_numbers
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import decide_roles


def numbers(cells: list[Any], style: str = "plain") -> tuple[list[float], list[int]]:
    values, wrong = parse_numbers(cells, np.zeros(len(cells), dtype=bool), style)
    return values.tolist(), wrong.tolist()


def role(cells: list[Any], name: str = "x", **more: Any) -> str:
    return decide_roles({name: cells}, **more)[0].role


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
@settings(max_examples=50, deadline=None)
def test_any_number_written_by_python_is_read_back_exactly(values: list[float]) -> None:
    assert numbers([repr(value) for value in values]) == (values, [])


def test_numbers_with_separators_are_read_in_the_style_that_fits_all_cells() -> None:
    none = np.zeros(3, dtype=bool)
    assert number_style(["1", "2.5", "1e3"], none) == "plain"
    assert number_style(["1,234", "12.5", "1,234,567.8"], none) == "comma thousands"
    assert number_style(["1.234,5", "12", "0,25"], none) == "decimal comma"
    assert number_style(["1.5", "1,5", "x"], none) is None
    assert numbers(["1,234,567.8"], "comma thousands") == ([1234567.8], [])
    assert numbers(["1.234.567,8", "1 234,5"], "decimal comma") == ([1234567.8, 1234.5], [])


@pytest.mark.parametrize(
    "cell", ["inf", "nan", "1_000", "0x10", "1e999", "٣", "", "--1", "1,2,3", "12,34", float("inf"), [1], 10**400]
)
def test_what_is_no_finite_number_is_not_taken_for_one(cell: Any) -> None:
    assert numbers([cell])[1] == [0]


def test_typed_cells_are_numbers_too() -> None:
    assert numbers([1, 2.5, True, Decimal("1.25")]) == ([1.0, 2.5, 1.0, 1.25], [])


def test_missing_marks_are_found_with_spaces_around_them() -> None:
    assert find_missing(["", " ", "?", " NA ", None, math.nan, "0", "None", 0]).tolist() == [True] * 6 + [False] * 3
    assert find_missing(["-", "x"], {"-"}).tolist() == [True, False]


def test_dates_are_days_in_utc_whatever_the_machine() -> None:
    zone = timezone(timedelta(hours=2))
    cells = [
        "1970-01-02",
        "1970-01-01T12:00",
        "1970-01-01T12:00+02:00",
        date(1970, 1, 3),
        datetime(1970, 1, 1, 2, tzinfo=zone),
    ]
    values, wrong = parse_dates([*cells, "01/02/1970", "1970-13-01", 5], np.zeros(8, dtype=bool))
    assert values[:5].tolist() == [1.0, 0.5, 10 / 24, 2.0, 0.0]
    assert wrong.tolist() == [5, 6, 7]


def test_dates_with_dots_are_day_month_year() -> None:
    values, wrong = parse_dates(["2.1.1970", "03.01.1970 12:00", "1.13.1970", "1.1.70"], np.zeros(4, dtype=bool))
    assert values[:2].tolist() == [1.0, 2.5]
    assert wrong.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([f"this is message number {i}" for i in range(30)], "text"),
        (["我们今天去公园玩了很久" + str(i) for i in range(30)], "text"),
        (["red", "blue", ""] * 10, "category"),
        ([True, False, None] * 10, "category"),
        (["0", "1"] * 15, "category"),
        (["01", "02", "10"] * 10, "category"),
        ([f"{i / 7:.4f}" for i in range(30)], "number"),
        ([str(i * i) for i in range(30)], "number"),
        ([str(v) for v in np.random.default_rng(0).poisson(6, 300)], "count"),
        ([f"2026-01-{1 + i % 28:02d}" for i in range(30)], "date"),
        ([f"{1 + i % 28}.12.2025" for i in range(30)], "date"),
        ([str(i) for i in range(30)], "id"),
        ([f"user{i}" for i in range(30)], "id"),
        (["same"] * 30, "constant"),
        (["?", "", "NA"] * 10, "empty"),
        ([{"a": 1}] * 30, "ignore"),
    ],
    ids=str,
)
def test_columns_are_taken_for_what_they_are(cells: list[Any], expected: str) -> None:
    assert role(cells) == expected


def test_a_role_that_was_asked_for_is_kept_and_one_that_cannot_be_is_refused_with_the_row() -> None:
    cells = [str(i) for i in range(30)]
    assert role(cells, asked={"x": "number"}) == "number"
    assert role(cells, asked={"x": "text"}) == "text"
    with pytest.raises(InputError, match="line 4 holds 'oops'"):
        decide_roles({"x": ["1", "2", "oops"]}, {"x": "number"}, where=lambda row: f"line {row + 2}")
    with pytest.raises(InputError, match="'y', which is not there"):
        decide_roles({"x": cells}, {"y": "number"})
    with pytest.raises(InputError, match="choose one of"):
        decide_roles({"x": cells}, {"x": "nmber"})


def test_a_stray_cell_in_a_column_of_numbers_is_refused_and_not_dropped() -> None:
    with pytest.raises(InputError, match="row 50 holds 'oops'"):
        role([f"{i / 7}" for i in range(50)] + ["oops"])
    # However long the column is, and wherever the cell.
    with pytest.raises(InputError, match="row 6543 holds 'oops'"):
        role([f"{i / 7}" if i != 6543 else "oops" for i in range(9000)])
    assert role([f"{i} words make a sentence" if i % 3 else f"{i / 7}" for i in range(9000)]) == "text"


def test_stray_cells_are_found_in_every_way_of_writing_numbers_and_named_where_they_are_few() -> None:
    numbers = [f"{i}.{i % 7}00,{i % 10}" for i in range(1, 60)]
    with pytest.raises(InputError, match=r"row 59 holds '-'.* declare '-' and 'x' missing .*--missing"):
        role([*numbers, "-", "x", "-"])
    with pytest.raises(InputError, match="declare them missing"):
        role([*numbers, "-", "x", "y"])


def test_a_column_that_is_to_hold_numbers_names_the_cell_that_is_none_however_the_others_are_written() -> None:
    for numbers in (["1.5", "2.25", "7"], ["1,234.5", "2,222.0", "3,111.75"], ["1.234,5", "17,25", "3.111,7"]):
        with pytest.raises(InputError, match=r"'x' is to be a number, but row 3 holds 'oops'"):
            decide_roles({"x": [*numbers, "oops"]}, {"x": "number"})


def test_spaces_around_a_mark_do_not_count_however_many_there_are() -> None:
    cells = ["NA" + " " * 100, "\u00a0?", " " * 50, "not NA", "NANANANANANA", "n/a", 1.5, math.nan]
    assert find_missing(cells).tolist() == [True, True, True, False, False, True, False, True]
    assert find_missing(["unknown value ", "unknown", ""], {"unknown value"}).tolist() == [True, False, False]


def test_tables_of_every_kind_become_the_same_cells() -> None:
    import pandas as pd
    import polars as pl

    given = {"a": [1, 2], "b": ["x", None]}
    for table in (given, pd.DataFrame(given), pl.DataFrame(given), RawTable(given, range(2))):
        found = RawTable.of(table)
        assert found.columns["a"] == [1, 2]
        assert find_missing(found.columns["b"]).tolist() == [False, True]
    with pytest.raises(InputError, match="different lengths"):
        RawTable.of({"a": [1], "b": []})
    with pytest.raises(InputError, match="give a data frame"):
        RawTable.of([[1, 2]])
