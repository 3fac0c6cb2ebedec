"""Masked arrays: what is masked is missing in tables, labels and weights."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from softcount import GLM, CategoricalNB, GaussianDiscriminant, GaussianNB, LogisticRegression, Mixture, NaiveBayes
from softcount._errors import InputError
from softcount.inputs.masked import unmasked

RNG = np.random.default_rng(0)
MASK = RNG.random((40, 3)) < 0.2
CODES = RNG.integers(0, 3, (40, 3))
Y = np.arange(40) % 2


@pytest.mark.parametrize(
    ("model", "cells"),
    [
        (GaussianNB(), RNG.normal(size=(40, 3))),
        (GaussianDiscriminant(), RNG.normal(size=(40, 3))),
        (CategoricalNB(), CODES),
        (NaiveBayes(), RNG.normal(size=(40, 3))),
        (NaiveBayes(), CODES.astype(object)),
        (NaiveBayes(), np.array(["red", "green", "blue"])[CODES]),
        (Mixture(2, random_state=0), CODES),
    ],
    ids=["numbers", "covariances", "codes", "a table", "objects", "texts", "a mixture"],
)
def test_masked_cells_are_missing_cells(model, cells):
    masked = np.ma.masked_array(cells, MASK)
    if cells.dtype.kind in "if":
        missing = np.where(MASK, np.nan, cells.astype(float))
    else:
        missing = np.where(MASK, None, cells.astype(object))
    expected = model.fit(missing, Y).predict_proba(missing)
    assert_array_equal(model.fit(masked, Y).predict_proba(masked), expected)


def test_masked_labels_are_missing_labels_and_the_others_stay_what_they_are():
    X = RNG.normal(size=(40, 2)) + Y[:, None]
    large = 2**60 + Y  # as floating point both would be one
    hidden = np.arange(40) > 20
    model = GaussianNB().fit(X, np.ma.masked_array(large, hidden))
    assert model.classes_.tolist() == [2**60, 2**60 + 1]
    plain = GaussianNB().fit(X, np.where(hidden, np.nan, Y))
    assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    shares = np.ma.masked_array(np.eye(2)[Y], np.repeat(hidden[:, None], 2, axis=1))
    assert_array_equal(GaussianNB().fit(X, shares).predict_proba(X), plain.predict_proba(X))


def test_masked_numbers_are_refused_where_none_may_be_missing():
    X = RNG.normal(size=(40, 3))
    one = np.arange(40) == 7
    for refused in (
        lambda: LogisticRegression().fit(np.ma.masked_array(X, MASK), Y),
        lambda: LogisticRegression().fit(X, np.ma.masked_array(Y, one)),
        lambda: GLM().fit(X, np.ma.masked_array(X[:, 0], one)),
        lambda: GLM().fit(X, X[:, 0], offset=np.ma.masked_array(X[:, 1], one)),
        lambda: GaussianNB().fit(X, Y, sample_weight=np.ma.masked_array(np.ones(40), one)),
    ):
        with pytest.raises(InputError, match=r"NaN|nan"):
            refused()


def test_an_array_with_nothing_masked_keeps_its_type():
    assert unmasked(np.ma.masked_array([1, 2], [False, False])).dtype == np.int64
    assert unmasked(np.ma.masked_array(np.float32([1, 2]), [True, False])).dtype == np.float32
    cells = [1, 2]
    assert unmasked(cells) is cells
