"""Learning from a stream: batches with and without labels, each seen once, early guesses forgotten."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import softcount as sc
from softcount import NaiveBayes
from softcount._errors import InputError
from tests.estimators.distant.cases import MIXTURES, SUPERVISED, counts, numbers, table

pytestmark = pytest.mark.filterwarnings("ignore::softcount._errors.ConvergenceWarning")
BATCH = 250


def batches(X, y=None):
    """The rows in their order, some at a time."""
    n_rows = X.shape[0]
    for start in range(0, n_rows, BATCH):
        rows = slice(start, min(start + BATCH, n_rows))
        yield (X.iloc[rows] if hasattr(X, "iloc") else X[rows]), (None if y is None else y[rows])


def mostly_unlabeled(z, rng, share=0.1):
    y = np.array(["ann", "bob", "cleo"], dtype=object)[z]
    y[rng.random(z.shape[0]) > share] = None
    return y


def finite(model):
    return all(np.isfinite(np.asarray(v)).all() for block in model.params_.blocks for v in block.values())


# A full covariance refuses missing cells in batches with and without forgetting.
ONLINE = [name for name in SUPERVISED if name not in ("GaussianDiscriminant full",)]


@pytest.mark.parametrize("name", ONLINE)
def test_labeled_batches_add_up_whatever_is_forgotten(name):
    estimator, make = SUPERVISED[name]
    X, z = make()
    y = np.array(["ann", "bob", "cleo"])[z]
    plain, online = clone(estimator), clone(estimator)
    for rows, labels in batches(X, y):
        plain.partial_fit(rows, labels, classes=["ann", "bob", "cleo"])
        online.partial_fit(rows, labels, classes=["ann", "bob", "cleo"], forgetting=0.7)
    for one, other in zip(plain.params_.blocks, online.params_.blocks, strict=True):
        for key, values in one.items():
            np.testing.assert_allclose(other[key], values, rtol=1e-9, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", ONLINE)
def test_batches_of_which_few_rows_have_a_label_lead_near_the_fit_of_all_rows(name):
    estimator, make = SUPERVISED[name]
    X, z = make()
    y = mostly_unlabeled(z, np.random.default_rng(5))
    truth = np.array(["ann", "bob", "cleo"])[z]
    whole = clone(estimator).set_params(unlabeled_weight=1.0, max_iter=50).fit(X, y)
    online = clone(estimator)
    for _ in range(3):
        for rows, labels in batches(X, y):
            online.partial_fit(rows, labels, classes=["ann", "bob", "cleo"], forgetting=0.7)
    assert finite(online)
    assert (online.predict(X) == truth).mean() > (whole.predict(X) == truth).mean() - 0.05


def test_nothing_is_forgotten_with_an_exponent_of_one():
    X, z = numbers()
    y = mostly_unlabeled(z, np.random.default_rng(5))
    added, averaged = sc.GaussianNB(), sc.GaussianNB()
    for rows, labels in batches(X, y):
        averaged.partial_fit(rows, labels, classes=["ann", "bob", "cleo"], forgetting=1.0)
        added.partial_fit(rows, labels, classes=["ann", "bob", "cleo"])
    assert averaged.guessed_weight_ == pytest.approx(sum(label is None for label in y))
    assert averaged.n_guessed_batches_ == 12
    np.testing.assert_allclose(averaged.class_count_.sum(), added.class_count_.sum(), rtol=1e-12)
    # Step 1/t makes the sum, but for batches with other numbers of labels.
    np.testing.assert_allclose(averaged.theta_, added.theta_, atol=0.05)


def test_the_steps_are_those_of_the_equation():
    """Two batches by hand: s = (1 - 2**-k) s1 + 2**-k s2, of weight n."""
    X, _ = counts()
    model = sc.PoissonMixture(2, random_state=0).partial_fit(X[:500])
    first, params = model.counts_, model.params_
    again = sc.PoissonMixture(2, random_state=0).fit(X[:500])
    model.partial_fit(X[500:900], forgetting=0.8)
    resp = again.responsibilities(X[500:900], by_component=True)
    step = 2.0**-0.8
    expected = (1 - step) * first["0"].arrays()["sum"] * 900 / 500 + step * (X[500:900].T @ resp) * 900 / 400
    np.testing.assert_allclose(model.counts_["0"].arrays()["sum"], expected, rtol=1e-9)
    assert params is not model.params_


@pytest.mark.parametrize("name", [name for name in MIXTURES if "holes" not in name])
def test_every_mixture_learns_from_batches(name):
    estimator, make = MIXTURES[name]
    X, _ = make()
    whole = clone(estimator).fit(X)
    online = clone(estimator)
    first = X.iloc[:1500] if hasattr(X, "iloc") else X[:1500]
    online.partial_fit(first)
    for _ in range(4):
        for rows, _ in batches(X):
            online.partial_fit(rows)
    assert finite(online)
    assert online.weights_.sum() == pytest.approx(1.0)
    assert online.score(X) > whole.score(X) - 0.05 * abs(whole.score(X))


def test_a_memory_follows_a_stream_that_changes():
    rng = np.random.default_rng(2)
    steady, quick = (sc.GaussianNB() for _ in range(2))
    for turn in range(60):
        z = rng.integers(0, 2, 200)
        X = rng.normal(size=(200, 2)) + 4.0 * z[:, None] + 0.1 * turn
        y = np.where(rng.random(200) < 0.2, z.astype(object), None)
        steady.partial_fit(X, y, classes=[0, 1], forgetting=0.7)
        quick.partial_fit(X, y, classes=[0, 1], forgetting=0.7, memory=200)
    now = np.array([5.9, 9.9])
    assert np.abs(quick.theta_[:, 0] - now).max() < 1.0
    assert np.abs(steady.theta_[:, 0] - now).max() > 1.5
    assert quick.class_count_.sum() < 401


def test_a_long_stream_stays_where_it_is():
    """Thousands of small batches leave no drift and no overflow."""
    rng = np.random.default_rng(3)
    model = sc.BernoulliMixture(2, random_state=0)
    shares = np.array([[0.9, 0.2, 0.7], [0.1, 0.8, 0.3]])
    for _ in range(3000):
        z = rng.integers(0, 2, 20)
        model.partial_fit((rng.random((20, 3)) < shares[z]).astype(float))
    found = np.exp(model.params_.blocks[0]["log_prob"]).T if "log_prob" in model.params_.blocks[0] else None
    assert finite(model)
    assert found is None or found.shape == (2, 3)
    assert model.guessed_weight_ == pytest.approx(60_000)
    assert np.abs(np.sort(model.weights_) - 0.5).max() < 0.15


def test_what_a_stream_has_taught_is_kept_in_model_files(tmp_path):
    X, z = numbers()
    y = mostly_unlabeled(z, np.random.default_rng(5))
    one, parts = sc.GaussianNB(), list(batches(X, y))
    for rows, labels in parts[:4]:
        one.partial_fit(rows, labels, classes=["ann", "bob", "cleo"], forgetting=0.6)
    one.save(tmp_path / "m.softcount")
    other = sc.load(tmp_path / "m.softcount")
    for model in (one, other):
        model.partial_fit(*parts[4], forgetting=0.6)
    assert other.theta_.tobytes() == one.theta_.tobytes()
    one.fit(X, y)
    assert not hasattr(one, "guessed_counts_")


def test_impossible_paces_are_refused():
    X, z = numbers()
    with pytest.raises(InputError, match=r"forgetting is 0\.5; give a number above 0\.5"):
        sc.GaussianNB().partial_fit(X, z, classes=[0, 1, 2], forgetting=0.5)
    with pytest.raises(InputError, match="memory is 0; give a number of rows"):
        sc.PoissonMixture(2).partial_fit(X, memory=0)
    with pytest.raises(InputError, match="has not been given a labeled row"):
        sc.GaussianNB().partial_fit(X, [None] * 3000, classes=[0, 1], forgetting=0.7)


def test_new_categories_find_room_among_what_is_remembered():
    frame, z = table()
    y = mostly_unlabeled(z, np.random.default_rng(5))
    model = sc.NaiveBayes()
    for rows, labels in batches(frame, y):
        model.partial_fit(rows, labels, classes=["ann", "bob", "cleo"], forgetting=0.7)
    assert finite(model)


def test_a_column_that_the_first_batch_does_not_show_is_pointed_out():
    table = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0], "member": [None, None, True, False]})
    with pytest.warns(UserWarning, match=r"'member' had no value in the first batch, .* families="):
        NaiveBayes().partial_fit(table[:2], ["a", "b"], classes=["a", "b"])
    told = NaiveBayes(families={"member": "bernoulli"}).partial_fit(table[:2], ["a", "b"], classes=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told.partial_fit(table[2:], ["a", "b"])
    assert told.families_["member"] == "bernoulli"
