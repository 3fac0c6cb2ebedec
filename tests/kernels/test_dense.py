"""Dense count kernels equal the specification."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels import specification
from tests.kernels.data import COUNT_TYPES, cases
from tests.kernels.specification import assert_equal

TYPES = st.sampled_from([*COUNT_TYPES, "bool", "float16"])
DENSITIES = st.sampled_from([0.05, 0.4, 1.0])


def draw_counts(case, dtype, density):
    X = case.counts(dtype, density, largest=1 if dtype == "bool" or density < 0.1 else 5)
    if dtype.startswith("float"):
        X[case.rng.random(X.shape) < 0.1] = np.nan
    return X


@given(
    case=cases(max_rows=70, max_features=70),
    dtype=TYPES,
    density=DENSITIES,
    impossible=st.sampled_from([0.0, 0.1]),
)
def test_scores_equal_the_specification(kernels, case, dtype, density, impossible):
    X = draw_counts(case, dtype, density)
    table, out = case.table(impossible=impossible), case.start(case.n_rows, case.n_classes)
    expected = specification.scores(X, table, out)
    kernels.dense_scores(X, table, out)
    assert_equal(out, expected)


@given(case=cases(max_rows=70, max_features=70), dtype=TYPES, density=DENSITIES)
def test_expected_counts_equal_the_specification(kernels, case, dtype, density):
    X = draw_counts(case, dtype, density)
    resp, out = case.resp(), case.start(case.n_features, case.n_classes)
    expected = specification.accumulate(X, resp, out)
    kernels.dense_accumulate(X, resp, out)
    assert_equal(out, expected)


@given(case=cases(), dtype=TYPES, density=DENSITIES)
def test_counts_of_known_classes_equal_the_specification(kernels, case, dtype, density):
    X = draw_counts(case, dtype, density)
    class_codes, weight = case.class_codes(), case.weight()
    out = case.start(case.n_features, case.n_classes)
    expected = specification.class_counts(X, class_codes, weight, out)
    kernels.dense_class_counts(X, class_codes, weight, out)
    assert_equal(out, expected)


@pytest.mark.parametrize("dtype", ["uint8", "float64", "float32"])
@pytest.mark.parametrize("mean", [0.3, 2.0])
@pytest.mark.parametrize("k", [9, 50])
def test_tables_larger_than_a_tile_equal_the_matrix_product(kernels, dtype, mean, k):
    rng = np.random.default_rng(0)
    X = rng.poisson(mean, size=(303, 1100)).astype(dtype)
    table, resp = rng.normal(size=(1100, k)), rng.random((303, k))
    scores, counts = np.zeros((303, k)), np.zeros((1100, k))
    kernels.dense_scores(X, table, scores)
    kernels.dense_accumulate(X, resp, counts)
    exact = X.astype(np.longdouble)
    np.testing.assert_allclose(scores, (exact @ table).astype(float), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(counts, (exact.T @ resp).astype(float), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("order", ["C", "F"])
def test_every_second_row_and_column_can_be_counted_without_a_copy_by_the_caller(kernels, order):
    X = np.array(np.arange(24).reshape(4, 6) % 3, dtype=np.float64, order=order)[::2, ::2]
    out = np.zeros((2, 2))
    kernels.dense_scores(X, np.arange(6.0).reshape(3, 2), out)
    np.testing.assert_array_equal(out, X @ np.arange(6.0).reshape(3, 2))
