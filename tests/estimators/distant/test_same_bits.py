"""A small mixture has the same bits wherever its rows are, however many threads there are, and whoever looks on."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tests.estimators.distant.cases import MIXTURES, batches_of, learned

pytestmark = [
    pytest.mark.filterwarnings("ignore::softcount._errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*the best log-likelihood was reached by:UserWarning"),
]


def assert_same_bits(one, other):
    first, second = learned(one), learned(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(second[name], values, err_msg=name, strict=True)
    assert one.n_iter_ == other.n_iter_


def rows_for(name, n_rows, seed):
    """Some rows of a case, in an order of their own."""
    X, _ = MIXTURES[name][1]()
    order = np.random.default_rng(seed).permutation(X.shape[0])[:n_rows]
    return X.iloc[order] if hasattr(X, "iloc") else X[order]


@pytest.mark.parametrize("name", [name for name in MIXTURES if name != "GaussianMixture"])
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n_rows=st.integers(60, 400), seed=st.integers(0, 2**16), n_init=st.integers(2, 6), plain=st.booleans())
def test_memory_threads_steps_and_batches_give_the_same_bits(name, *, n_rows, seed, n_init, plain):
    X = rows_for(name, n_rows, seed)
    # Few iterations, or as many as it takes with leaps and the best starts alone run to the end.
    effort = {"max_iter": 6, "tol": 0.0} if plain else {"max_iter": 40, "tol": 1e-6}
    model = clone(MIXTURES[name][0]).set_params(n_init=n_init, random_state=seed, n_jobs=1, **effort)
    memory = clone(model).fit(X)
    assert_same_bits(memory, clone(model).set_params(n_jobs=2).fit(X))
    assert_same_bits(memory, clone(model).fit(batches_of(X, sizes=(70, 1, 0, 33, 120))))
    with contextlib.redirect_stderr(io.StringIO()):
        assert_same_bits(memory, clone(model).set_params(verbose=2).fit(X))


def test_a_cluster_gives_the_bits_of_memory(two_workers):
    da = pytest.importorskip("dask.array")
    X = rows_for("CategoricalMixture", 300, 0)
    model = clone(MIXTURES["CategoricalMixture"][0]).set_params(n_init=2, max_iter=3, tol=0.0)
    assert_same_bits(clone(model).fit(X), clone(model).fit(da.from_array(X, chunks=((130, 170), -1))))
