"""Plain arrays skip scikit-learn's checks, and whatever is not plain still meets them."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from softcount import GaussianNB, LogisticRegression, MultinomialNB
from softcount.estimators._plain_array import FLOATS, NUMBERS, take_plain

X = np.arange(12.0).reshape(6, 2) % 5
Y = np.array([0, 1, 0, 1, 0, 1])


class Learner:
    """Remembers what an estimator remembers of a table."""

    def __init__(self, **known: Any) -> None:
        vars(self).update(known)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_an_array_of_numbers_is_plain(dtype: str) -> None:
    learner = Learner()
    assert take_plain(learner, X.astype(dtype), reset=True, kinds=NUMBERS, check_finite=True)
    assert vars(learner) == {"n_features_in_": 2}
    assert take_plain(learner, X.astype(dtype), reset=False, kinds=NUMBERS, check_finite=True)


@pytest.mark.parametrize(
    "table",
    [
        X.astype(np.float16),
        X.astype(">f8"),
        X.astype(object),
        X.astype(complex),
        X[0],
        X[:, :0],
        X[:0],
        X[None],
        np.where(X == 4.0, np.nan, X),
        np.where(X == 4.0, np.inf, X),
        pd.DataFrame(X),
        X.tolist(),
        np.ma.masked_equal(X, 4.0),
    ],
    ids=lambda table: type(table).__name__ + str(getattr(table, "dtype", "")),
)
def test_anything_else_is_left_to_the_full_checks(table: Any) -> None:
    learner = Learner()
    assert not take_plain(learner, table, reset=True, kinds=NUMBERS, check_finite=True)
    assert vars(learner) == {}


def test_whole_numbers_are_not_plain_where_floats_are_wanted() -> None:
    assert not take_plain(Learner(), X.astype(int), reset=True, kinds=FLOATS, check_finite=False)


@pytest.mark.parametrize("known", [{"n_features_in_": 3}, {}, {"n_features_in_": 2, "feature_names_in_": ["a", "b"]}])
def test_columns_other_than_those_known_are_left_to_the_full_checks(known: dict[str, Any]) -> None:
    assert not take_plain(Learner(**known), X, reset=False, kinds=NUMBERS, check_finite=True)


@pytest.mark.parametrize("kind", [GaussianNB, MultinomialNB, LogisticRegression])
def test_names_learned_from_a_frame_are_forgotten_with_the_next_array(kind: Any) -> None:
    model = kind().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 2"):
        model.predict(X[:, :1])
