"""Whole-number labels in a narrow range are read as sorting would read them."""

import numpy as np
import pytest

from softcount.inputs.label_codes import FEW, FIRST_ROWS, narrow_range, narrow_unique


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64"])
@pytest.mark.parametrize("low", [0, 3, 100])
def test_labels_without_a_gap_are_their_distance_from_the_lowest(dtype: str, low: int) -> None:
    values = (low + np.random.default_rng(0).integers(0, 5, FIRST_ROWS + 7)).astype(dtype)
    assert_read_like_sorted(values)


def test_labels_below_zero_and_at_the_end_of_their_type_are_read() -> None:
    for dtype in (np.int8, np.int64):
        bounds = np.iinfo(dtype)
        assert_read_like_sorted(np.array([bounds.min, bounds.min + 2, bounds.min + 1], dtype=dtype))
        assert_read_like_sorted(np.array([bounds.max, bounds.max - 1, bounds.max], dtype=dtype))
    assert_read_like_sorted(np.array([-1, 1, 0, -1]))


@pytest.mark.parametrize("missing", [[3], [1, 2], [0, 4]])
def test_values_that_are_left_out_get_no_code(missing: list[int]) -> None:
    values = np.random.default_rng(1).integers(0, 5, 2 * FIRST_ROWS)
    assert_read_like_sorted(values[~np.isin(values, missing)])


def test_a_value_that_only_a_late_row_has_is_found() -> None:
    values = np.zeros(FIRST_ROWS + 2, dtype=np.int64)
    values[-1], values[-2] = 2, 1
    assert_read_like_sorted(values)
    values[-2] = 0
    assert_read_like_sorted(values)


def test_many_values_are_counted() -> None:
    assert_read_like_sorted(np.random.default_rng(2).integers(0, 4 * FEW, 3 * FIRST_ROWS))
    assert_read_like_sorted(np.arange(FEW + 1))


def assert_read_like_sorted(values: np.ndarray) -> None:
    span = narrow_range(values)
    assert span is not None
    found, codes = narrow_unique(values, *span)
    expected, expected_codes = np.unique(values, return_inverse=True)
    assert found.dtype == values.dtype
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(codes, expected_codes)
