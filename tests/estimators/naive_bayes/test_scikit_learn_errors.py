"""What scikit-learn refuses is refused here too, by an error of the same kind that says where the mistake is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.estimators.naive_bayes.cases import (
    BERNOULLI,
    CATEGORICAL,
    COMPLEMENT,
    GAUSSIAN,
    MULTINOMIAL,
    WITH_RIVAL,
    Case,
)

DISCRETE = [BERNOULLI, MULTINOMIAL, COMPLEMENT, CATEGORICAL]
COUNTS = [MULTINOMIAL, COMPLEMENT]
Call = Callable[[Any, NDArray[Any], NDArray[Any]], Any]


def spoiled(X: NDArray[Any], value: Any) -> NDArray[Any]:
    X = X.astype(object if isinstance(value, (str, dict)) else np.float64)
    X[4, 2] = value
    return X


def named(X: NDArray[Any], names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(X, columns=names)


# (what is wrong, which estimators, the call, what our message says)
BAD_CALLS: list[tuple[str, list[Case], Call, str]] = [
    ("y shorter than X", WITH_RIVAL, lambda e, X, y: e.fit(X, y[:-1]), r"X has 60 rows, y has 59"),
    ("y longer than X", WITH_RIVAL, lambda e, X, y: e.fit(X[:-1], y), r"X has 59 rows, y has 60"),
    ("no y", WITH_RIVAL, lambda e, X, y: e.fit(X, None), r"requires y to be passed"),
    ("y of NaN only", WITH_RIVAL, lambda e, X, y: e.fit(X, np.full(60, np.nan)), r"NaN only: no row has a label"),
    ("y with infinity", WITH_RIVAL, lambda e, X, y: e.fit(X, np.where(y, 1.0, np.inf)), r"infinity.*row 0 of y"),
    ("continuous y", WITH_RIVAL, lambda e, X, y: e.fit(X, y + 0.5), r"continuous.*0\.5 \(row 0 of y\)"),
    ("y of lists", WITH_RIVAL, lambda e, X, y: e.fit(X, [[1], *y[1:].tolist()]), r"list.*row 0"),
    ("y with three axes", WITH_RIVAL, lambda e, X, y: e.fit(X, np.zeros((60, 1, 1))), r"1d array.*\(60, 1, 1\)"),
    ("X with one axis", WITH_RIVAL, lambda e, X, y: e.fit(X[:, 0], y), r"Expected 2D array"),
    ("X with three axes", WITH_RIVAL, lambda e, X, y: e.fit(X[:, :, None], y), r"dim 3|3D"),
    ("a scalar X", WITH_RIVAL, lambda e, X, y: e.fit(3.0, y), r"Expected 2D array"),
    ("X without rows", WITH_RIVAL, lambda e, X, y: e.fit(X[:0], y[:0]), r"0 sample\(s\)"),
    ("X without columns", WITH_RIVAL, lambda e, X, y: e.fit(X[:, :0], y), r"0 feature\(s\)"),
    ("complex X", WITH_RIVAL, lambda e, X, y: e.fit(X + 1j, y), r"[Cc]omplex"),
    ("infinity in X", WITH_RIVAL, lambda e, X, y: e.fit(spoiled(X, np.inf), y), r"row 4, column 2"),
    ("minus infinity in X", WITH_RIVAL, lambda e, X, y: e.fit(spoiled(X, -np.inf), y), r"row 4, column 2"),
    ("text in X", WITH_RIVAL, lambda e, X, y: e.fit(spoiled(X, "red"), y), r"row 4, column 2 of X holds 'red'"),
    ("a dictionary in X", WITH_RIVAL, lambda e, X, y: e.fit(spoiled(X, {}), y), r"row 4, column 2 of X holds \{\}"),
    ("text in X of strings", WITH_RIVAL, lambda e, X, y: e.fit([["a", "b"]] * 60, y), r"row 0, column 0 .* 'a'"),
    ("weights of two axes", WITH_RIVAL, lambda e, X, y: e.fit(X, y, np.ones((60, 2))), r"1D array"),
    ("too few weights", WITH_RIVAL, lambda e, X, y: e.fit(X, y, np.ones(59)), r"\(59,\), expected \(60,\)"),
    ("a weight of NaN", WITH_RIVAL, lambda e, X, y: e.fit(X, y, [np.nan] + [1.0] * 59), r"row 0 is nan"),
    ("an infinite weight", WITH_RIVAL, lambda e, X, y: e.fit(X, y, [np.inf] + [1.0] * 59), r"row 0 is inf"),
    ("weights that are text", WITH_RIVAL, lambda e, X, y: e.fit(X, y, ["a"] * 60), r"cannot be read as numbers"),
    ("prediction before fitting", WITH_RIVAL, lambda e, X, y: e.predict(X), r"not fitted yet"),
    ("probabilities before fitting", WITH_RIVAL, lambda e, X, y: e.predict_joint_log_proba(X), r"not fitted yet"),
    ("too few columns", WITH_RIVAL, lambda e, X, y: e.fit(X, y).predict(X[:, :-1]), r"X has 4 features.*expecting 5"),
    ("too many columns", WITH_RIVAL, lambda e, X, y: e.fit(X, y).predict_proba(np.c_[X, X]), r"X has 10 features"),
    ("infinity to predict", WITH_RIVAL, lambda e, X, y: e.fit(X, y).predict(spoiled(X, np.inf)), r"row 4, column 2"),
    (
        "columns of other names",
        WITH_RIVAL,
        lambda e, X, y: e.fit(named(X, list("abcde")), y).predict(named(X, list("abcdf"))),
        r"feature names should match",
    ),
    (
        "columns in another order",
        WITH_RIVAL,
        lambda e, X, y: e.fit(named(X, list("abcde")), y).predict(named(X, list("bacde"))),
        r"same order",
    ),
    ("no classes in the first batch", WITH_RIVAL, lambda e, X, y: e.partial_fit(X, y), r"classes must be passed"),
    (
        "other classes in a later batch",
        WITH_RIVAL,
        lambda e, X, y: e.partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1]),
        r"not the same as on last call",
    ),
    (
        "an unknown class in the first batch",
        [GAUSSIAN],
        lambda e, X, y: e.partial_fit(X, y, classes=[0, 1]),
        r"label\(s\) \[2\] in y do not exist in the initial classes",
    ),
    (
        "other columns in a later batch",
        WITH_RIVAL,
        lambda e, X, y: e.partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X[:, 1:], y),
        r"X has 4 features",
    ),
    ("a negative alpha", DISCRETE, lambda e, X, y: e.set_params(alpha=-1.0).fit(X, y), r"alpha is -1"),
    ("an alpha that is text", DISCRETE, lambda e, X, y: e.set_params(alpha="much").fit(X, y), r"alpha is 'much'"),
    (
        "a negative entry of alpha",
        COUNTS,
        lambda e, X, y: e.set_params(alpha=[1.0, 1.0, -1.0, 1.0, 1.0]).fit(X, y),
        r"[Aa]ll values in alpha|alpha",
    ),
    (
        "an alpha of the wrong length",
        COUNTS,
        lambda e, X, y: e.set_params(alpha=[1.0, 1.0]).fit(X, y),
        r"2 elements instead of 5",
    ),
    (
        "too few class probabilities",
        DISCRETE,
        lambda e, X, y: e.set_params(class_prior=[0.5, 0.5]).fit(X, y),
        r"Number of priors must match number of classes",
    ),
    (
        "class probabilities that are a number",
        DISCRETE,
        lambda e, X, y: e.set_params(class_prior=0.5).fit(X, y),
        r"class_prior",
    ),
    ("priors that sum to 2", [GAUSSIAN], lambda e, X, y: e.set_params(priors=[0.5, 0.5, 1.0]).fit(X, y), r"sum"),
    ("too few priors", [GAUSSIAN], lambda e, X, y: e.set_params(priors=[0.5, 0.5]).fit(X, y), r"Number of priors"),
    ("a negative prior", [GAUSSIAN], lambda e, X, y: e.set_params(priors=[-0.5, 0.5, 1.0]).fit(X, y), r"non-negative"),
    ("negative smoothing", [GAUSSIAN], lambda e, X, y: e.set_params(var_smoothing=-1.0).fit(X, y), r"var_smoothing"),
    ("smoothing that is text", [GAUSSIAN], lambda e, X, y: e.set_params(var_smoothing="x").fit(X, y), r"'x'"),
    ("sparse rows", [GAUSSIAN, CATEGORICAL], lambda e, X, y: e.fit(csr_array(X), y), r"[Ss]parse data was passed"),
    ("a negative count", COUNTS, lambda e, X, y: e.fit(spoiled(X, -1.0), y), r"row 4, column 'x2' holds -1"),
    (
        "a negative sparse count",
        COUNTS,
        lambda e, X, y: e.fit(csr_array(spoiled(X, -1.0)), y),
        r"row 4, column 'x2' holds -1",
    ),
    ("a negative code", [CATEGORICAL], lambda e, X, y: e.fit(spoiled(X, -1.0), y), r"row 4, column 'x2' holds -1"),
    (
        "a negative code to predict",
        [CATEGORICAL],
        lambda e, X, y: e.fit(X, y).predict(spoiled(X, -1.0)),
        r"row 4, column 'x2' holds -1",
    ),
    (
        "fewest categories of a fraction",
        [CATEGORICAL],
        lambda e, X, y: e.set_params(min_categories=[2.5] * 5).fit(X, y),
        r"integral type",
    ),
    (
        "fewest categories of another length",
        [CATEGORICAL],
        lambda e, X, y: e.set_params(min_categories=[2, 2]).fit(X, y),
        r"\(5,\).*\(2,\)",
    ),
    ("no categories", [CATEGORICAL], lambda e, X, y: e.set_params(min_categories=0).fit(X, y), r"at least one"),
    (
        "a threshold below zero for sparse rows",
        [BERNOULLI],
        lambda e, X, y: e.set_params(binarize=-1.0).fit(csr_array(X), y),
        r"threshold < 0",
    ),
    ("a threshold that is text", [BERNOULLI], lambda e, X, y: e.set_params(binarize="x").fit(X, y), r"binarize is 'x'"),
]
TABLE = [
    pytest.param(case, call, message, id=f"{case.name}-{what}")
    for what, cases, call, message in BAD_CALLS
    for case in cases
]


@pytest.mark.parametrize(("case", "call", "message"), TABLE)
def test_a_mistake_that_scikit_learn_refuses_is_refused_with_its_place(case: Case, call: Call, message: str) -> None:
    X, y = case.rows()
    with pytest.raises((ValueError, TypeError)) as theirs:
        call(case.rival(), X, y)
    kind = TypeError if isinstance(theirs.value, TypeError) and not isinstance(theirs.value, ValueError) else ValueError
    with pytest.raises(kind, match=message):
        call(case.make(), X, y)


@pytest.mark.parametrize("case", WITH_RIVAL, ids=lambda case: case.name)
def test_labels_of_mixed_types_are_refused_where_scikit_learn_turns_them_into_texts(case: Case) -> None:
    X, y = case.rows()
    with pytest.raises(ValueError, match=r"mixes labels of types int, str"):
        case.make().fit(X, ["a", *y[1:].tolist()])


@pytest.mark.parametrize("case", WITH_RIVAL, ids=lambda case: case.name)
def test_an_unknown_class_in_a_batch_is_refused_even_where_scikit_learn_passes_it_over(case: Case) -> None:
    X, y = case.rows()
    with pytest.raises(ValueError, match=r"label\(s\) \[2\] in y do not exist in the initial classes \[0, 1\]"):
        case.make().partial_fit(X, y, classes=[0, 1])
