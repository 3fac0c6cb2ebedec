"""Columns of a table: how many values are few, and which code stands for which."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from softcount import NaiveBayes
from softcount._errors import InputError
from softcount.inputs.columns import FEW_VALUES, Column, encode, few_values, learn_categories, read_columns


def column(values: Any, kind: str = "integer") -> Column:
    array = np.asarray(values)
    return Column("x", kind, array, np.asarray(pd.isna(array)))


@pytest.mark.parametrize("first", [0, 5000])
def test_values_are_few_up_to_the_limit_and_not_beyond(first: int) -> None:
    # The last value may show late in a long column.
    few = np.concatenate([np.zeros(first, dtype=int), np.arange(FEW_VALUES)])
    assert few_values(column(few)) == FEW_VALUES
    assert few_values(column(np.append(few, FEW_VALUES))) is None
    assert few_values(column(np.append(few.astype(float), np.nan), "number")) == FEW_VALUES


@pytest.mark.parametrize("kind", ["integer", "category"])
def test_values_that_were_never_seen_have_no_code_and_are_marked(kind: str) -> None:
    known, given = [3, 5, 8], [5, 4, 9, 1, 8, 3]
    if kind == "category":
        known, given = [[str(value) for value in values] for values in (known, given)]
    dtype = object if kind == "category" else None
    categories = learn_categories(column(np.array(known[::-1], dtype=dtype), kind))
    assert categories == known
    codes, unknown = encode(column(np.array(given, dtype=dtype), kind), categories)
    assert codes.tolist() == [1, -1, -1, -1, 2, 0]
    assert unknown.tolist() == [False, True, True, True, False, False]


@pytest.mark.parametrize("whole", [[2**60, 2**60 + 1], [2**70, 2**70 + 1], [-(2**63), 2**63 - 1]])
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("kind", ["objects", "nullable"])
def test_whole_numbers_that_floating_point_cannot_tell_apart_are_told_apart(
    whole: list[int], has_missing: bool, kind: str
) -> None:
    if kind == "nullable" and max(whole) >= 2**63:
        pytest.skip("no such type has so many bits")
    cells = [*whole, *([None] if has_missing else []), *whole]
    table = pd.DataFrame({"id": pd.array(cells, dtype="Int64" if kind == "nullable" else object)})
    (read,) = read_columns(table)
    assert learn_categories(read) == whole
    assert encode(read, whole)[0].tolist() == [0, 1, *([-1] if has_missing else []), 0, 1]
    y = ["a", "b", *(["a"] if has_missing else []), "a", "b"]
    model = NaiveBayes(families="categorical").fit(table, y)
    assert model.predict(table)[[0, 1]].tolist() == ["a", "b"]
    numbers = NaiveBayes(families="gaussian").fit(table, y)
    assert np.isfinite(numbers.predict_proba(table)).all()


def test_complex_numbers_are_no_categories() -> None:
    with pytest.raises(InputError, match="'z' holds complex numbers"):
        NaiveBayes().fit(pd.DataFrame({"z": [1j, 2j]}), [0, 1])
