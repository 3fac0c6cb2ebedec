"""One look at many numbers: least, greatest, total, holes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

NUMBERS = st.one_of(
    arrays.arrays(np.float64, st.integers(0, 200), elements=st.floats(-1e100, 1e100) | st.just(np.nan)),
    arrays.arrays(np.float32, st.integers(0, 200), elements=st.floats(-100, 100, width=32) | st.just(np.nan)),
    arrays.arrays(np.int64, st.integers(0, 200), elements=st.integers(-1000, 1000)),
    arrays.arrays(np.uint8, st.integers(0, 200)),
    arrays.arrays(np.bool_, st.integers(0, 200)),
)


@given(numbers=NUMBERS)
def test_the_range_is_that_of_the_numbers_that_are_there(kernels, numbers):
    known = numbers[~np.isnan(numbers)].astype(np.float64) if numbers.dtype.kind == "f" else numbers.astype(np.float64)
    seen = kernels.number_range(numbers)
    assert seen.least == known.min(initial=np.inf)
    assert seen.greatest == known.max(initial=-np.inf)
    assert seen.has_missing == (known.size < numbers.size)
    np.testing.assert_allclose(seen.total, known.sum(), rtol=1e-12, atol=1e-12 * np.abs(known).sum())


@pytest.mark.parametrize("n", [1, 3, 16, 17, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 7.0, -7.0])
def test_no_position_is_overlooked(kernels, n, value):
    for at in {0, n // 2, n - 1}:
        numbers = np.zeros(n)
        numbers[at] = value
        seen = kernels.number_range(numbers)
        assert seen.has_missing == np.isnan(value)
        if not np.isnan(value):
            assert (seen.least, seen.greatest) == (min(0.0, value), max(0.0, value)) or n == 1
            assert value in (seen.least, seen.greatest)


def test_numbers_that_are_no_row_are_refused_or_read_as_they_are(kernels):
    every_second = np.arange(10.0)[::2]
    assert kernels.number_range(every_second).total == 20.0
