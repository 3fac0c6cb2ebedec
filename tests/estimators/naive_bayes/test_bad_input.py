"""Bad input times estimators: a right answer, or an error from our own checks that names the place."""

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from softcount import NaiveBayes
from softcount._errors import InputError
from tests.estimators.naive_bayes.cases import ALL, CATEGORICAL, COMPLEMENT, GAUSSIAN, GENERATIVE, MULTINOMIAL, Case

DISCRETE = [case for case in ALL if case is not GAUSSIAN]
COUNTED = [case for case in ALL if case.name in ("MultinomialNB", "ComplementNB", "PoissonNB")]
NON_NEGATIVE = [*COUNTED, CATEGORICAL]
SPARSE = [case for case in ALL if case.reads_sparse]
DENSE = [case for case in ALL if not case.reads_sparse]


@dataclass(frozen=True)
class Bad:
    """Something wrong, the estimators it is wrong for, and what the message has to say."""

    what: str
    cases: list[Case]
    call: Callable[[Case, Any, Any], Any]
    message: str


def put(X: Any, value: Any, row: int = 4, column: int = 2) -> Any:
    spoiled = X.astype(object if isinstance(value, (str, list, dict)) or value is None else np.float64)
    spoiled[row, column] = value
    return spoiled


def fit(case: Case, X: Any, y: Any, **settings: Any) -> Any:
    weight = settings.pop("sample_weight", None)
    return case.make(**settings).fit(X, y, sample_weight=weight)


def named(X: Any, names: str) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(names))


def half(y: Any) -> Any:
    return np.where(np.arange(y.size) < 30, y.astype(float), np.nan)


REFUSED = [
    # ---- X when fitting
    Bad("an infinite cell", ALL, lambda c, X, y: fit(c, put(X, np.inf), y), r"row 4, column 2 of X holds inf"),
    Bad("a text cell", ALL, lambda c, X, y: fit(c, put(X, "red"), y), r"row 4, column 2 of X holds 'red'"),
    Bad("a list in a cell", ALL, lambda c, X, y: fit(c, put(X, [1, 2]), y), r"row 4, column 2 of X|sequence"),
    Bad(
        "an infinite cell of a named column",
        ALL,
        lambda c, X, y: fit(c, named(put(X, np.inf), "abcde"), y),
        r"row 4, column 'c' of X holds inf",
    ),
    Bad("an infinite sparse cell", SPARSE, lambda c, X, y: fit(c, csr_array(put(X, np.inf)), y), r"row 4, column 2"),
    Bad("sparse rows", DENSE, lambda c, X, y: fit(c, csr_array(X), y), r"[Ss]parse data was passed"),
    Bad("a negative count", NON_NEGATIVE, lambda c, X, y: fit(c, put(X, -2), y), r"row 4, column 'x2' holds -2"),
    Bad(
        "a negative sparse count",
        COUNTED,
        lambda c, X, y: fit(c, csr_array(put(X, -2)), y),
        r"row 4, column 'x2' holds -2",
    ),
    Bad("rows of different lengths", DENSE, lambda c, X, y: fit(c, [[1, 0], [1]], [0, 1]), r"inhomogeneous|2D array"),
    Bad("a dictionary", ALL, lambda c, X, y: fit(c, {"a": 1}, [0]), r"2D array|dict"),
    Bad("nothing at all", ALL, lambda c, X, y: fit(c, None, y), r"NoneType|None|2D array|requires"),
    Bad("a text", ALL, lambda c, X, y: fit(c, "rows", [0]), r"There is no file or folder rows"),
    Bad("no rows", ALL, lambda c, X, y: fit(c, X[:0], y[:0]), r"0 sample\(s\)"),
    Bad("no columns", ALL, lambda c, X, y: fit(c, X[:, :0], y), r"0 feature\(s\)"),
    # ---- X when predicting
    Bad("an infinite cell to predict", ALL, lambda c, X, y: fit(c, X, y).predict(put(X, np.inf)), r"row 4, column 2"),
    Bad(
        "a negative count to predict",
        NON_NEGATIVE,
        lambda c, X, y: fit(c, X, y).predict_proba(put(X, -1)),
        r"row 4, column 'x2' holds -1",
    ),
    Bad("too few columns to predict", ALL, lambda c, X, y: fit(c, X, y).predict(X[:, 1:]), r"4 features.*expecting 5"),
    Bad("no rows to predict", ALL, lambda c, X, y: fit(c, X, y).predict(X[:0]), r"0 sample\(s\)"),
    Bad("text to predict", ALL, lambda c, X, y: fit(c, X, y).predict(put(X, "red")), r"row 4, column 2"),
    Bad("prediction before fitting", ALL, lambda c, X, y: c.make().predict_proba(X), r"not fitted yet"),
    Bad("density before fitting", GENERATIVE, lambda c, X, y: c.make().score_samples(X), r"not fitted yet"),
    Bad("a sample before fitting", GENERATIVE, lambda c, X, y: c.make().sample(3), r"not fitted yet"),
    Bad("words before fitting", ALL, lambda c, X, y: c.make().top_features(), r"not fitted yet"),
    Bad(
        "other names to predict",
        ALL,
        lambda c, X, y: fit(c, pd.DataFrame(X, columns=list("abcde")), y).predict(
            pd.DataFrame(X, columns=list("abcdf"))
        ),
        r"feature names should match",
    ),
    # ---- y
    Bad("labels of mixed types", ALL, lambda c, X, y: fit(c, X, ["a", *y[1:].tolist()]), r"mixes labels of types"),
    Bad("continuous labels", ALL, lambda c, X, y: fit(c, X, y / 7), r"continuous.*row \d+ of y"),
    Bad("an infinite label", ALL, lambda c, X, y: fit(c, X, np.where(y == 1, np.inf, y)), r"infinity.*row 1 of y"),
    Bad("missing labels alone", ALL, lambda c, X, y: fit(c, X, [None] * len(y)), r"no row has a label"),
    Bad("no labels", ALL, lambda c, X, y: fit(c, X, None), r"requires y to be passed"),
    Bad("too few labels", ALL, lambda c, X, y: fit(c, X, y[1:]), r"X has 60 rows, y has 59 labels"),
    Bad("a label that is a list", ALL, lambda c, X, y: fit(c, X, [[0, 1], *y[1:].tolist()]), r"list \(row 0 of y\)"),
    Bad("an empty set", GENERATIVE, lambda c, X, y: fit(c, X, [set(), *y[1:].tolist()]), r"Row 0 of y is an empty set"),
    Bad(
        "probabilities that do not sum to one",
        ALL,
        lambda c, X, y: fit(c, X, np.full((60, 3), 0.5)),
        r"Row 0 of y sums to 1.5",
    ),
    Bad("negative probabilities", ALL, lambda c, X, y: fit(c, X, np.tile([2.0, -1.0], (60, 1))), r"row 0 of y is"),
    Bad(
        "a class that was not named",
        GENERATIVE,
        lambda c, X, y: fit(c, X, y, classes=[0, 1]),
        r"label\(s\) \[2\] in y do not exist",
    ),
    Bad("too few classes", GENERATIVE, lambda c, X, y: fit(c, X, y, n_classes=2), r"n_classes is 2, but y holds 3"),
    Bad("no classes", GENERATIVE, lambda c, X, y: fit(c, X, None, n_classes=0), r"n_classes is 0"),
    Bad("a text for a number of classes", GENERATIVE, lambda c, X, y: fit(c, X, y, n_classes="3"), r"n_classes is '3'"),
    Bad(
        "unlabeled rows for a scoring rule",
        [COMPLEMENT],
        lambda c, X, y: fit(c, X, half(y)),
        r"row 30 has no label.*MultinomialNB",
    ),
    Bad(
        "labels of other classes afterwards",
        GENERATIVE,
        lambda c, X, y: fit(c, X, y).responsibilities(X, y + 1),
        r"label\(s\) \[3\] in y do not exist",
    ),
    # ---- weights
    Bad("a missing weight", ALL, lambda c, X, y: fit(c, X, y, sample_weight=[np.nan] + [1] * 59), r"row 0 is nan"),
    Bad("a negative weight", ALL, lambda c, X, y: fit(c, X, y, sample_weight=[1] * 59 + [-1]), r"row 59 is -1"),
    Bad("too few weights", ALL, lambda c, X, y: fit(c, X, y, sample_weight=[1, 2]), r"\(2,\), expected \(60,\)"),
    Bad("weights of zero alone", ALL, lambda c, X, y: fit(c, X, y, sample_weight=np.zeros(60)), r"weights are zero"),
    Bad("weights that are text", ALL, lambda c, X, y: fit(c, X, y, sample_weight=["a"] * 60), r"sample_weight"),
    Bad(
        "a bad weight in a criterion",
        GENERATIVE,
        lambda c, X, y: fit(c, X, y).bic(X, sample_weight=[-1] + [1] * 59),
        r"row 0 is -1",
    ),
    # ---- batches
    Bad("no classes in the first batch", ALL, lambda c, X, y: c.make().partial_fit(X, y), r"classes must be passed"),
    Bad(
        "an unknown class in a batch",
        ALL,
        lambda c, X, y: c.make().partial_fit(X, y, classes=[0, 1]),
        r"label\(s\) \[2\] in y do not exist",
    ),
    Bad(
        "unlabeled rows in the first batch",
        GENERATIVE,
        lambda c, X, y: c.make().partial_fit(X, np.full(60, np.nan), classes=[0, 1]),
        r"labeled rows first",
    ),
    Bad(
        "several components in batches",
        GENERATIVE,
        lambda c, X, y: c.make(n_components_per_class=2).partial_fit(X, y, classes=[0, 1, 2]),
        r"one component per class",
    ),
    Bad(
        "a batch of weights of zero",
        ALL,
        lambda c, X, y: c.make().partial_fit(X, y, classes=[0, 1, 2], sample_weight=np.zeros(60)),
        r"sample weight above zero",
    ),
    # ---- settings
    Bad("a negative alpha", DISCRETE, lambda c, X, y: fit(c, X, y, alpha=-1), r"alpha is -1"),
    Bad("an alpha of NaN", DISCRETE, lambda c, X, y: fit(c, X, y, alpha=np.nan), r"alpha is nan"),
    Bad("an infinite alpha", DISCRETE, lambda c, X, y: fit(c, X, y, alpha=np.inf), r"alpha is inf"),
    Bad("an alpha of text", DISCRETE, lambda c, X, y: fit(c, X, y, alpha="one"), r"alpha is 'one'"),
    Bad("an alpha of another shape", DISCRETE, lambda c, X, y: fit(c, X, y, alpha=np.ones((3, 4))), r"\(3, 4\)"),
    Bad("an alpha for other classes", DISCRETE, lambda c, X, y: fit(c, X, y, alpha=np.ones((2, 5))), r"2 rows.*3 cl"),
    Bad("too short an alpha", DISCRETE, lambda c, X, y: fit(c, X, y, alpha=[1, 2]), r"2 elements instead of 5"),
    Bad("a prior of another length", DISCRETE, lambda c, X, y: fit(c, X, y, class_prior=[0.5, 0.5]), r"Number of pri"),
    Bad("a negative prior", DISCRETE, lambda c, X, y: fit(c, X, y, class_prior=[-1, 1, 1]), r"non-negative"),
    Bad("a prior of text", DISCRETE, lambda c, X, y: fit(c, X, y, class_prior="even"), r"class_prior is 'even'"),
    Bad("a negative class_alpha", GENERATIVE, lambda c, X, y: fit(c, X, y, class_alpha=-1), r"class_alpha is -1"),
    Bad("an infinite class_alpha", GENERATIVE, lambda c, X, y: fit(c, X, y, class_alpha=np.inf), r"class_alpha is inf"),
    Bad("a text for class_alpha", GENERATIVE, lambda c, X, y: fit(c, X, y, class_alpha="a"), r"class_alpha is 'a'"),
    Bad("a negative tolerance", GENERATIVE, lambda c, X, y: fit(c, X, y, tol=-1), r"tol is -1"),
    Bad("fractions of iterations", GENERATIVE, lambda c, X, y: fit(c, X, y, max_iter=2.5), r"max_iter is 2.5"),
    Bad("negative iterations", GENERATIVE, lambda c, X, y: fit(c, X, y, max_iter=-1), r"max_iter is -1"),
    Bad("no starts", GENERATIVE, lambda c, X, y: fit(c, X, y, n_init=0), r"n_init is 0"),
    Bad("an unknown start", GENERATIVE, lambda c, X, y: fit(c, X, half(y), init="magic"), r"init is 'magic'"),
    Bad(
        "a start of another shape",
        GENERATIVE,
        lambda c, X, y: fit(c, X, half(y), init=np.ones((2, 2)), unlabeled_weight=1.0),
        r"of shape \(60, 3\)",
    ),
    Bad(
        "a negative weight of unlabeled rows",
        GENERATIVE,
        lambda c, X, y: fit(c, X, y, unlabeled_weight=-0.5),
        r"unlabeled_weight is -0.5",
    ),
    Bad(
        "an infinite weight of unlabeled rows",
        GENERATIVE,
        lambda c, X, y: fit(c, X, half(y), unlabeled_weight=np.inf),
        r"unlabeled_weight is inf",
    ),
    Bad("an unknown meaning", GENERATIVE, lambda c, X, y: fit(c, X, y, soft_labels="maybe"), r"soft_labels is 'maybe'"),
    Bad("no components", GENERATIVE, lambda c, X, y: fit(c, X, y, n_components_per_class=0), r"_per_class is 0"),
    Bad(
        "too few components",
        GENERATIVE,
        lambda c, X, y: fit(c, X, y, n_components_per_class=[1, 2]),
        r"one for each of the 3 classes",
    ),
    Bad(
        "components of an unknown class",
        GENERATIVE,
        lambda c, X, y: fit(c, X, y, n_components_per_class={7: 2}),
        r"\[7\], which are not among the classes",
    ),
    Bad("no threads", ALL, lambda c, X, y: fit(c, X, y, n_jobs=0), r"n_jobs is 0"),
    Bad("a seed of text", GENERATIVE, lambda c, X, y: fit(c, X, half(y), random_state="x"), r"random_state is 'x'"),
    Bad("a negative seed", GENERATIVE, lambda c, X, y: fit(c, X, half(y), random_state=-1), r"random_state is -1"),
    Bad(
        "an unknown answer to the unknown",
        [CATEGORICAL],
        lambda c, X, y: fit(c, X, y, handle_unknown="guess"),
        r"handle_unknown is 'guess'",
    ),
    Bad(
        "word ids that are texts",
        [MULTINOMIAL, COMPLEMENT],
        lambda c, X, y: fit(c, [["a"], [1, 2]], [0, 1]),
        r"document 0 holds 'a'",
    ),
    Bad(
        "a negative word id",
        [MULTINOMIAL, COMPLEMENT],
        lambda c, X, y: fit(c, [[1], [1, -2]], [0, 1]),
        r"Document 1 holds the word id -2",
    ),
    Bad(
        "half a word id",
        [MULTINOMIAL, COMPLEMENT],
        lambda c, X, y: fit(c, [[1], [1, 0.5]], [0, 1]),
        r"Document 1 holds the word id 0.5",
    ),
]

# Odd, but with a right answer: everything that is answered is finite and no label is lost.
ANSWERED = [
    Bad("a column of NaN", ALL, lambda c, X, y: fit(c, np.where(np.arange(5) == 1, np.nan, X), y), ""),
    Bad("a row of NaN", ALL, lambda c, X, y: fit(c, np.where(np.arange(60)[:, None] == 1, np.nan, X), y), ""),
    Bad("a duplicate column", ALL, lambda c, X, y: fit(c, X[:, [0, 0, 1, 2, 2]], y), ""),
    Bad("a class of weight zero", ALL, lambda c, X, y: fit(c, X, y, sample_weight=(y != 2).astype(float)), ""),
    Bad("rows that are all the same", ALL, lambda c, X, y: fit(c, np.repeat(X[:1], 60, axis=0), y), ""),
    Bad("labels that contradict one another", ALL, lambda c, X, y: fit(c, np.repeat(X[:30], 2, axis=0), y), ""),
    Bad(
        "weights of very different size",
        ALL,
        lambda c, X, y: fit(c, X, y, sample_weight=10.0 ** (np.arange(60) - 30)),
        "",
    ),
    Bad("no smoothing", DISCRETE, lambda c, X, y: fit(c, X, y, alpha=0), ""),
    Bad("a class that cannot be", DISCRETE, lambda c, X, y: fit(c, X, y, class_prior=[0.0, 0.5, 0.5]), ""),
    Bad(
        "one label of each class",
        GENERATIVE,
        lambda c, X, y: fit(c, X, np.where(np.arange(60) < 3, y * 1.0, np.nan)),
        "",
    ),
    Bad(
        "more classes than rows",
        GENERATIVE,
        lambda c, X, y: fit(c, X[:4], None, n_classes=6, random_state=0, unlabeled_weight=1.0),
        "",
    ),
    Bad(
        "a named class without a row",
        GENERATIVE,
        lambda c, X, y: fit(c, X, y, classes=[0, 1, 2, 3], unlabeled_weight=1.0),
        "",
    ),
    Bad(
        "no iterations",
        GENERATIVE,
        lambda c, X, y: fit(c, X, half(y), max_iter=0, tol=0.0, unlabeled_weight=1.0),
        "",
    ),
]


def cells(table: list[Bad]) -> list[Any]:
    return [pytest.param(bad, case, id=f"{case.name}-{bad.what}") for bad in table for case in bad.cases]


@pytest.mark.parametrize(("bad", "case"), cells(REFUSED))
def test_bad_input_is_refused_by_a_check_that_names_the_place(bad: Bad, case: Case) -> None:
    X, y = case.rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises((ValueError, TypeError), match=bad.message) as refused:
            bad.call(case, X, y)
    raised_in = traceback.extract_tb(refused.value.__traceback__)[-1].filename
    assert "softcount" in raised_in or "sklearn" in raised_in, f"raised in {raised_in}"


@pytest.mark.parametrize(("bad", "case"), cells(ANSWERED))
def test_odd_input_is_answered_by_numbers(bad: Bad, case: Case) -> None:
    X, y = case.rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model = bad.call(case, X, y)
        posterior = model.predict_proba(X)
        log_posterior = model.predict_log_proba(X)
        labels = model.predict(X)
    assert np.isfinite(posterior).all()
    assert not np.isnan(log_posterior).any()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-9)
    assert set(labels.tolist()) <= set(model.classes_.tolist())
    assert np.isfinite(model.class_count_).all()


def test_the_matrix_of_bad_input_has_a_hundred_cells_and_more() -> None:
    assert len(cells(REFUSED)) + len(cells(ANSWERED)) > 300


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_refused_batch_leaves_the_model_as_it_was(case: Case) -> None:
    X, y = case.rows()
    model = case.make().partial_fit(X, y, classes=[0, 1, 2])
    before = model.predict_joint_log_proba(X)
    wide = X.copy()
    wide[:, 1] += 9
    for bad_y, weight in ((y + 1, None), (y, np.full(60, -1.0)), (y[:-1], None)):
        with pytest.raises(ValueError, match=r"do not exist|row 0 is -1|y has 59"):
            model.partial_fit(wide, bad_y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), before)
    model.partial_fit(X, y)
    np.testing.assert_allclose(model.class_count_, 2 * np.bincount(y))


def test_columns_by_name_are_asked_for_as_a_table() -> None:
    with pytest.raises(InputError, match=r"X is a dict of columns; expected rows.*pyarrow\.table"):
        NaiveBayes().fit({"color": ["red", "blue"], "size": [1.0, 2.0]}, [0, 1])


def test_a_start_that_there_is_not_is_refused_also_with_complete_labels() -> None:
    X, y = GAUSSIAN.rows()
    with pytest.raises(InputError, match=r"init is 'bogus'; choose one of 'labeled', "):
        GAUSSIAN.make().set_params(init="bogus").fit(X, y)
