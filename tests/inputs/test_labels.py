"""Labels as users have them: any type, any container, some or all missing, sets, and rows of probabilities."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from softcount._errors import InputError
from softcount.inputs.labels import read_labels


def codes_and_classes(y: Any, n_rows: int | None = None, **settings: Any) -> tuple[list[int], list[Any]]:
    labels, classes = read_labels(y, len(y) if n_rows is None else n_rows, **settings)
    assert labels.n_classes == len(classes)
    return labels.codes.tolist(), classes.tolist()


MISSING_SECOND = [
    pytest.param(np.array([3.0, np.nan, 5.0]), [3.0, 5.0], id="floats with NaN"),
    pytest.param([3, None, 5], [3, 5], id="a list with None"),
    pytest.param((3, float("nan"), 5), [3, 5], id="a tuple with NaN"),
    pytest.param(np.array([3, None, 5], dtype=object), [3, 5], id="objects with None"),
    pytest.param([3, pd.NA, 5], [3, 5], id="a list with pd.NA"),
    pytest.param(np.array([3, pd.NaT, 5], dtype=object), [3, 5], id="objects with NaT"),
    pytest.param(["a", None, "b"], ["a", "b"], id="texts with None"),
    pytest.param(["a", np.nan, "b"], ["a", "b"], id="texts with NaN"),
    pytest.param(["a", pd.NA, "b"], ["a", "b"], id="texts with pd.NA"),
    pytest.param(["a", np.float32("nan"), "b"], ["a", "b"], id="texts with a narrow NaN"),
    pytest.param([True, None, False], [False, True], id="booleans with None"),
    pytest.param(pd.Series([3, None, 5], dtype="Int64"), [3, 5], id="nullable integers"),
    pytest.param(pd.Series([3, None, 5], dtype="Float64"), [3.0, 5.0], id="nullable floats"),
    pytest.param(pd.Series(["a", None, "b"], dtype="string"), ["a", "b"], id="nullable texts"),
    pytest.param(pd.Series(["a", None, "b"]), ["a", "b"], id="a series of texts"),
    pytest.param(pd.Series([True, None, False], dtype="boolean"), [False, True], id="nullable booleans"),
    pytest.param(pd.Series(["a", None, "b"], dtype="category"), ["a", "b"], id="categories of texts"),
    pytest.param(pd.Series([3, None, 5], dtype="category"), [3, 5], id="categories of numbers"),
    pytest.param(pd.Categorical(["a", None, "b"]), ["a", "b"], id="a categorical"),
    pytest.param(pd.Index([3.0, np.nan, 5.0]), [3.0, 5.0], id="an index"),
    pytest.param(pl.Series([3, None, 5]), [3, 5], id="polars integers"),
    pytest.param(pl.Series(["a", None, "b"]), ["a", "b"], id="polars texts"),
    pytest.param(pl.Series([True, None, False]), [False, True], id="polars booleans"),
    pytest.param(pl.Series(["a", None, "b"], dtype=pl.Categorical), ["a", "b"], id="polars categories"),
    pytest.param(pa.array([3, None, 5]), [3, 5], id="Arrow integers"),
    pytest.param(pa.array(["a", None, "b"]), ["a", "b"], id="Arrow texts"),
    pytest.param(pa.chunked_array([["a", None], ["b"]]), ["a", "b"], id="chunked Arrow texts"),
    pytest.param(pa.array(["a", None, "b"]).dictionary_encode(), ["a", "b"], id="an Arrow dictionary"),
    pytest.param(
        np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="M8[D]"),
        [np.datetime64("2020-01-01").item(), np.datetime64("2020-01-02").item()],
        id="dates with NaT",
    ),
]


@pytest.mark.parametrize(("y", "classes"), MISSING_SECOND)
def test_a_missing_label_is_missing_in_every_container(y: Any, classes: list[Any]) -> None:
    first, last = (1, 0) if classes == [False, True] else (0, 1)
    assert codes_and_classes(y) == ([first, -1, last], classes)


@pytest.mark.parametrize(
    ("y", "marker", "classes"),
    [
        (np.array([3, -1, 5]), -1, [3, 5]),
        (np.array([3.0, -1.0, 5.0]), -1, [3.0, 5.0]),
        ([3, -1, None, 5], -1, [3, 5]),
        (["a", "?", "b"], "?", ["a", "b"]),
        (np.array(["a", "?", "b"]), "?", ["a", "b"]),
        (np.array(["a", "?", "b"], dtype=object), "?", ["a", "b"]),
        (["a", "", None, "b"], "", ["a", "b"]),
        (pd.Series(["a", "?", "b"], dtype="category"), "?", ["a", "b"]),
        ([1, "?", 3], "?", [1, 3]),
        (["a", -1, "b"], -1, ["a", "b"]),
        ([3, None, 5], None, [3, 5]),
        (np.array([3, 7, 5], dtype=np.uint8), np.int64(7), [3, 5]),
        ([pd.NA, "?", "a", "b"], "?", ["a", "b"]),
    ],
)
def test_any_marker_can_stand_for_a_missing_label(y: Any, marker: Any, classes: list[Any]) -> None:
    codes, found = codes_and_classes(y, missing_label=marker)
    assert found == classes
    assert [code for code in codes if code >= 0] == [0, 1]


def test_minus_one_is_a_class_unless_it_is_named_as_the_marker() -> None:
    assert codes_and_classes([-1, 1, -1]) == ([0, 1, 0], [-1, 1])


@pytest.mark.parametrize("y", [["nan", "a"], ["None", "a"], ["", "a"]])
def test_texts_that_look_like_missing_labels_are_labels(y: list[str]) -> None:
    assert -1 not in codes_and_classes(y)[0]


def test_types_of_labels_are_kept() -> None:
    for y, kind in (
        ([1, None, 2], "i"),
        (["a", None], "U"),
        ([True, None, False], "b"),
        ([1.0, None, 2.0], "f"),
        (np.array([1, 2], dtype=np.int8), "i"),
        (pl.Series([1, None, 2]), "i"),
        ([10**30, None, 2], "O"),
    ):
        assert read_labels(y, len(y))[1].dtype.kind == kind


def test_whole_numbers_beyond_64_bits_keep_their_digits() -> None:
    assert codes_and_classes([10**30, 10**30 + 1, None]) == ([0, 1, -1], [10**30, 10**30 + 1])


def test_labels_of_no_common_type_but_a_common_order_are_classes() -> None:
    from fractions import Fraction

    assert codes_and_classes([Fraction(1, 2), None, Fraction(1, 3)])[0] == [1, -1, 0]
    assert codes_and_classes([("a", 1), ("a", 2), None]) == ([0, 1, -1], [("a", 1), ("a", 2)])


# ---- classes asked for
def test_classes_without_a_label_can_be_named() -> None:
    assert codes_and_classes(["b", None], classes=["c", "a", "b"]) == ([1, -1], ["a", "b", "c"])
    assert codes_and_classes([None, None], classes=["x", "y"]) == ([-1, -1], ["x", "y"])
    assert codes_and_classes(None, n_rows=2, classes=[5, 3]) == ([-1, -1], [3, 5])
    assert codes_and_classes(["b", "a"], classes=["c", "b", "a"], in_order=True) == ([1, 2], ["c", "b", "a"])


@pytest.mark.parametrize(
    ("y", "n_classes", "classes"),
    [
        ([4, None, 7], 4, [4, 7, 8, 9]),
        ([1.0, np.nan], 2, [1.0, 2.0]),
        (["a", None], 3, ["a", "new 1", "new 2"]),
        (["new 1", None], 3, ["new 1", "new 2", "new 3"]),
        ([True, None, False], 3, [False, True, "new 1"]),
        ([None, None], 2, [0, 1]),
        ([-5, None], 2, [-5, -4]),
    ],
)
def test_classes_that_nobody_named_get_names_of_their_own(y: Any, n_classes: int, classes: list[Any]) -> None:
    codes, found = codes_and_classes(y, n_classes=n_classes)
    assert found == classes
    for code, label in zip(codes, y, strict=True):
        assert code == -1 or classes[code] == label


def test_no_labels_and_a_number_of_classes_is_clustering() -> None:
    assert codes_and_classes(None, n_rows=3, n_classes=2) == ([-1, -1, -1], [0, 1])


# ---- sets
def test_a_set_allows_its_members_alone() -> None:
    labels, classes = read_labels(["a", {"b", "c"}, {"b"}, None, frozenset({"c", "b"}), {"a", "b", "c"}], 6)
    assert classes.tolist() == ["a", "b", "c"]
    assert labels.codes.tolist() == [0, -1, 1, -1, -1, -1]
    assert labels.factor_row is not None
    assert labels.factors is not None
    assert labels.factor_row.tolist() == [-1, 0, -1, -1, 0, -1]
    assert_array_equal(labels.factors, [[0.0, 1.0, 1.0]])
    # A set of all classes says as little as no label.
    assert labels.is_unlabeled().tolist() == [False, False, False, True, False, True]
    assert not labels.all_known()
    assert labels.class_support().tolist() == [1.0, 1.0, 0.0]


def test_sets_bring_classes_of_their_own() -> None:
    assert codes_and_classes([{1, 2}, {3}, None])[1] == [1, 2, 3]


def test_support_counts_row_weights() -> None:
    labels, _ = read_labels(["a", "b", "b", None], 4)
    assert labels.class_support(np.array([0.0, 2.0, 0.5, 9.0])).tolist() == [0.0, 2.5]


# ---- probabilities
def test_rows_of_probabilities_are_kept_and_certain_ones_are_labels() -> None:
    y = [[1.0, 0.0], [0.25, 0.75], [np.nan, np.nan], [0.0, 1.0]]
    for matrix in (y, np.array(y), np.array(y, dtype=np.float32)):
        labels, classes = read_labels(matrix, 4)
        assert classes.tolist() == [0, 1]
        assert labels.codes.tolist() == [0, -1, -1, 1]
        assert labels.fixed
        assert labels.factors is not None
        assert labels.factor_row is not None
        assert_allclose(labels.factors[labels.factor_row[1]], [0.25, 0.75])
        assert labels.is_unlabeled().tolist() == [False, False, True, False]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"])
def test_columns_of_probabilities_are_named_by_their_classes(make: Any) -> None:
    table = make({"spam": [1.0, 0.3, 0.0], "ham": [0.0, 0.7, 1.0]})
    labels, classes = read_labels(table, 3)
    assert classes.tolist() == ["spam", "ham"]
    assert labels.codes.tolist() == [0, -1, 1]
    labels, classes = read_labels(table, 3, classes=["spam", "ham"])
    assert classes.tolist() == ["ham", "spam"]
    assert labels.codes.tolist() == [1, -1, 0]
    assert labels.factors is not None
    assert_allclose(labels.factors[1], [0.7, 0.3])


def test_factors_need_not_sum_to_one_but_responsibilities_have_to() -> None:
    y = [[2.0, 1.0], [0.5, 0.0]]
    labels, _ = read_labels(y, 2, soft_labels="prior")
    assert not labels.fixed
    assert labels.codes.tolist() == [-1, -1]
    assert labels.class_support().tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match=r"Row 0 of y sums to 3"):
        read_labels(y, 2)


def test_one_hot_rows_are_labels() -> None:
    labels, classes = read_labels(np.eye(3, dtype=int)[[2, 0, 1]], 3)
    assert labels.codes.tolist() == [2, 0, 1]
    assert labels.factors is None
    assert labels.all_known()
    assert classes.tolist() == [0, 1, 2]


# ---- refusals
REFUSED = [
    (None, {}, r"requires y to be passed, but the target y is None"),
    ([None, None], {}, r"NaN only: no row has a label.*n_classes="),
    (np.array([np.nan, np.nan]), {}, r"NaN only"),
    (["?", "?"], {"missing_label": "?"}, r"NaN only"),
    ([1], {}, r"X has 2 rows, y has 1 labels"),
    ([[0.5, 0.5]], {}, r"X has 2 rows, y has 1 rows"),
    ([1, "a"], {}, r"mixes labels of types int, str"),
    ([1, "a", None][:2], {"classes": [1, 2]}, r"mixes labels|do not exist"),
    ([{1}, {"a"}], {}, r"mixes labels of types int, str"),
    ([1.5, 2.0], {}, r"continuous.*1\.5 \(row 0 of y\)"),
    ([1, 2.5], {}, r"continuous.*2\.5 \(row 1 of y\)"),
    ([1.0, np.inf], {}, r"infinity.*row 1 of y"),
    ([1, set()], {}, r"Row 1 of y is an empty set"),
    ([1, {2, None}], {}, r"Row 1 of y.*missing label"),
    ([1, {2, -1}], {"missing_label": -1}, r"Row 1 of y.*missing label"),
    ([1, [2, 3]], {}, r"list \(row 1 of y\)"),
    ([{"a": 1}, 2], {}, r"dict \(row 0 of y\)"),
    (np.zeros((2, 2, 2)), {}, r"1d array.*\(2, 2, 2\)"),
    (np.array(3), {}, r"1d array"),
    ([1j, 2], {}, r"complex"),
    ([1, 2], {"classes": [1]}, r"label\(s\) \[2\] in y do not exist in the initial classes \[1\]"),
    ([1, 2], {"classes": []}, r"name at least one class"),
    ([1, 2], {"classes": "ab"}, r"give a list of all classes"),
    ([1, 2], {"classes": [1, 2, None]}, r"none of them NaN or None"),
    ([1, 2], {"classes": [1, 2], "n_classes": 3}, r"n_classes is 3, but classes= names 2"),
    ([1, 2], {"n_classes": 1}, r"n_classes is 1, but y holds 2 classes"),
    ([1, 2], {"n_classes": 0}, r"whole number of 1 or more"),
    ([1, 2], {"n_classes": 2.5}, r"whole number of 1 or more"),
    ([1, 2], {"n_classes": "2"}, r"whole number of 1 or more"),
    ([1, 2], {"soft_labels": "maybe"}, r"choose one of 'responsibility', 'prior'"),
    ([[0.5, 0.6], [0.5, 0.5]], {}, r"Row 0 of y sums to 1\.1"),
    ([[0.5, 0.5], [1.5, -0.5]], {}, r"row 1 of y is \[1\.5, -0\.5\]"),
    ([[0.5, 0.5], [np.inf, 0.5]], {}, r"row 1 of y"),
    ([[0.5, 0.5], [np.nan, 1.0]], {}, r"row 1 of y"),
    ([[0.0, 0.0], [1.0, 1.0]], {"soft_labels": "prior"}, r"Row 0 of y sums to 0"),
    (np.array([["a", "b"], ["c", "d"]]), {}, r"entries are not numbers"),
    ([[0.5, 0.5], [0.5, 0.5]], {"classes": [1, 2, 3]}, r"2 columns of probabilities, but there are 3 classes"),
    ([[0.5, 0.5], [0.5, 0.5]], {"n_classes": 3}, r"2 columns of probabilities, but n_classes is 3"),
    (pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}), {"classes": ["a", "c"]}, r"columns of y are \['a', 'b'\]"),
    (np.zeros((2, 0)), {}, r"without columns"),
]


@pytest.mark.parametrize(("y", "settings", "message"), REFUSED)
def test_labels_that_cannot_be_read_are_refused_with_their_place(
    y: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(y, 2, **settings)


def test_a_column_of_labels_is_read_as_a_vector_with_a_warning() -> None:
    from sklearn.exceptions import DataConversionWarning

    for column in (np.array([[1], [2]]), [[1], [2]], pd.DataFrame({"y": [1, 2]})):
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            assert codes_and_classes(column) == ([0, 1], [1, 2])


# ---- laws
LABEL = st.one_of(st.none(), st.integers(-5, 5), st.just(float("nan")))


@given(y=st.lists(LABEL, min_size=1, max_size=30).filter(lambda y: any(isinstance(v, int) for v in y)))
def test_codes_stand_for_the_labels_they_were_made_from(y: list[Any]) -> None:
    labels, classes = read_labels(y, len(y))
    assert classes.tolist() == sorted({v for v in y if isinstance(v, int)})
    for code, label in zip(labels.codes, y, strict=True):
        assert (code == -1) == (not isinstance(label, int))
        assert code == -1 or classes[code] == label


@given(y=st.lists(LABEL, min_size=2, max_size=30), start=st.integers(0, 30), stop=st.integers(0, 30))
def test_rows_of_labels_are_the_labels_of_those_rows(y: list[Any], start: int, stop: int) -> None:
    labels, _ = read_labels([0, *y, {0, 1}, {1, 2}], len(y) + 3)
    part = labels.rows(start, stop)
    assert_array_equal(part.codes, labels.codes[start:stop])
    taken = labels.take(np.arange(labels.n_rows)[start:stop])
    assert_array_equal(part.is_unlabeled(), taken.is_unlabeled())
    assert_array_equal(part.is_unlabeled(), labels.is_unlabeled()[start:stop])


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64, np.uint8, np.uint64])
def test_whole_numbers_of_any_type_are_told_apart_up_to_its_limits(kind: Any) -> None:
    limits = np.iinfo(kind)
    for y in ([limits.min, limits.min + 1], [limits.max - 1, limits.max], [limits.min // 2, limits.max // 2]):
        assert codes_and_classes(np.array([*y, y[0]], dtype=kind)) == ([0, 1, 0], y)


def nullable(y: list[Any]) -> Any:
    return pd.array(y, dtype="Int64")


def arrow_backed(y: list[Any]) -> Any:
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([y]))


@pytest.mark.parametrize("container", [nullable, arrow_backed, pl.Series, pa.array])
def test_whole_numbers_beside_a_missing_one_keep_their_digits(container: Any) -> None:
    y = [2**60, 2**60 + 1, None, 2**60]
    assert codes_and_classes(container(y)) == ([0, 1, -1, 0], [2**60, 2**60 + 1])
