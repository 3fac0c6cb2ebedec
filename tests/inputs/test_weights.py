"""Row weights as users have them."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from softcount._errors import InputError
from softcount.inputs.weights import read_weights


def test_no_weights_count_every_row_once() -> None:
    assert read_weights(None, 3) is None


@pytest.mark.parametrize(
    "weights",
    [
        [1, 0, 2.5],
        (1, 0, 2.5),
        np.array([1, 0, 2.5], dtype=np.float32),
        pd.Series([1, 0, 2.5], index=[7, 8, 9]),
        pd.Series([1, 0, 2.5], dtype="Float64"),
        pl.Series([1.0, 0.0, 2.5]),
        pa.array([1.0, 0.0, 2.5]),
    ],
    ids=lambda w: type(w).__module__.split(".")[0] + " " + type(w).__name__,
)
def test_weights_come_in_any_container(weights: Any) -> None:
    read = read_weights(weights, 3)
    assert read is not None
    assert read.dtype == np.float64
    assert_array_equal(read, [1.0, 0.0, 2.5])


def test_one_number_weights_all_rows() -> None:
    assert_array_equal(read_weights(2, 3), [2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"sample_weight.shape == \(2,\), expected \(3,\)"),
        ([[1.0], [2.0], [3.0]], r"1D array or scalar, got 2D"),
        ([1.0, np.nan, 1.0], r"row 1 is nan; weights are finite and 0 or more"),
        ([1.0, np.inf, 1.0], r"row 1 is inf"),
        ([1.0, 1.0, -0.5], r"row 2 is -0.5"),
        ([1.0, None, 1.0], r"row 1 is nan"),
        (["a", "b", "c"], r"cannot be read as numbers"),
        ([1j, 1, 1], r"cannot be read as numbers|complex"),
        (-1.0, r"row 0 is -1"),
        ([1.0, 1e300, 1.0], r"row 1 is 1e\+300, the largest of all.*Rescale the weights"),
        ([0.0, 1e-300, 1e-310], r"row 1 is 1e-300, the largest of all.*Rescale the weights"),
        (pd.Series([1, None, 2], dtype="Int64"), r"row 1 is nan|cannot be read"),
    ],
)
def test_weights_that_make_no_sense_are_refused_with_their_row(weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_weights(weights, 3)
