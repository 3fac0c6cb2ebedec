"""Rows in every container and layout that holds numbers."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from softcount import GaussianNB, NaiveBayes
from softcount.estimators.table.classifier import TableClassifier
from tests.estimators.naive_bayes.cases import ALL, BERNOULLI, GENERATIVE, MULTINOMIAL, Case

NAMES = ["a", "b", "c", "d", "e"]
#: Names of polars columns are read from 1.9 on.
SCIKIT_LEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])


def by_name(case: Case) -> str:
    return case.name


def nullable_pandas(X: Any) -> pd.DataFrame:
    kind = "Float64" if X.dtype.kind == "f" else "Int64"
    return pd.DataFrame(X, columns=NAMES).astype(kind)


def arrow_pandas(X: Any) -> pd.DataFrame:
    kind = "double[pyarrow]" if X.dtype.kind == "f" else "int64[pyarrow]"
    return pd.DataFrame(X, columns=NAMES).astype(kind)


CONTAINERS = {
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of arrays": list,
    "objects": lambda X: X.astype(object),
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "long double": lambda X: X.astype(np.longdouble),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "nullable pandas": nullable_pandas,
    "Arrow pandas": arrow_pandas,
    "pandas objects": lambda X: pd.DataFrame(X, columns=NAMES).astype(object),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "Arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_every_container_gives_the_answers_of_the_array(case: Case, container: str) -> None:
    X, y = case.rows()
    plain = case.make().fit(X, y)
    rows = CONTAINERS[container](X)
    model = case.make().fit(rows, y)
    assert_allclose(model.predict_joint_log_proba(rows), plain.predict_joint_log_proba(X), rtol=1e-12)
    named = ["pandas", "nullable pandas", "Arrow pandas", "pandas objects", "Arrow"]
    if container in (named if SCIKIT_LEARN < (1, 9) else [*named, "polars"]):
        assert model.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_missing_cells_are_missing_in_every_container(case: Case) -> None:
    X, y = case.rows()
    X = case.missing_cells(X)
    plain = case.make().fit(X, y).predict_joint_log_proba(X)
    holes = [[None if np.isnan(v) else v for v in row] for row in X.tolist()]
    whole = case.name != "GaussianNB"
    frame = pd.DataFrame(holes, columns=NAMES)
    tables = [
        np.array(holes, dtype=object),
        holes,
        frame.astype("Int64" if whole else "Float64"),
        frame.astype(object).where(frame.notna(), pd.NA),
        np.array(frame.astype(object).where(frame.notna(), pd.NA)),
        pl.DataFrame({n: [None if v is None else (int(v) if whole else v) for v in c] for n, c in _columns(holes)}),
        pa.table({n: [None if v is None else (int(v) if whole else v) for v in c] for n, c in _columns(holes)}),
    ]
    for table in tables:
        model = case.make().fit(table, y)
        assert_allclose(model.predict_joint_log_proba(table), plain, rtol=1e-12, err_msg=str(type(table)))


def _columns(rows: list[list[Any]]) -> Any:
    return zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)


def test_booleans_and_nullable_booleans_are_bits() -> None:
    X, y = BERNOULLI.rows()
    plain = BERNOULLI.make().fit(X, y).predict_joint_log_proba(X)
    frame = pd.DataFrame(X.astype(bool), columns=NAMES)
    for table in (frame, frame.astype("boolean"), X.astype(bool), pl.DataFrame(X.astype(bool), schema=NAMES)):
        assert_allclose(BERNOULLI.make().fit(table, y).predict_joint_log_proba(table), plain, rtol=1e-13)


@pytest.mark.parametrize("case", ALL, ids=by_name)
def test_read_only_and_mapped_arrays_are_left_as_they_are(case: Case, tmp_path: Path) -> None:
    X, y = case.rows()
    plain = case.make().fit(X, y).predict_joint_log_proba(X)
    frozen, labels = X.copy(), y.copy()
    frozen.flags.writeable = labels.flags.writeable = False
    assert_array_equal(case.make().fit(frozen, labels).predict_joint_log_proba(frozen), plain)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_array_equal(case.make().fit(mapped, labels).predict_joint_log_proba(mapped), plain)
    kept = X.astype(float)
    before = kept.copy()
    half: Any = np.where(y == 0, np.nan, y.astype(float))
    if case in GENERATIVE:
        case.make(unlabeled_weight=1.0, n_classes=3, random_state=0, max_iter=3, tol=0.0).fit(kept, half).predict(kept)
        assert_array_equal(kept, before)


@pytest.mark.parametrize("case", [c for c in ALL if c.reads_sparse], ids=by_name)
def test_sparse_rows_are_left_as_they_are(case: Case) -> None:
    X, y = case.rows()
    rows = csr_array(X.astype(float))
    rows.data.flags.writeable = False
    before = rows.copy()
    case.make().fit(rows, y).predict_proba(rows)
    assert_array_equal(rows.data, before.data)
    assert_array_equal(rows.indices, before.indices)


def test_sparse_indices_may_have_64_bits() -> None:
    X, y = MULTINOMIAL.rows()
    rows = csr_array(X)
    wide = csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), shape=rows.shape)
    one, other = MULTINOMIAL.make().fit(rows, y), MULTINOMIAL.make().fit(wide, y)
    assert_array_equal(one.predict_joint_log_proba(rows), other.predict_joint_log_proba(wide))


def test_unsorted_sparse_rows_are_read() -> None:
    shuffled = csr_array((np.array([2.0, 1.0, 5.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    for case in (c for c in ALL if c.reads_sparse):
        one, other = case.make().fit(shuffled, [0, 1]), case.make().fit(shuffled.toarray(), [0, 1])
        assert_allclose(one.predict_proba(shuffled), other.predict_proba(shuffled.toarray()), rtol=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("case", [c for c in ALL if c.reads_sparse], ids=by_name)
def test_missing_cells_of_sparse_rows_are_missing(case: Case, as_sparse: bool) -> None:
    X, y = case.rows()
    X = case.missing_cells(X)
    one, other = case.make().fit(csr_array(X), y), case.make().fit(X, y)
    assert_allclose(one.predict_joint_log_proba(csr_array(X)), other.predict_joint_log_proba(X), rtol=1e-11)


@pytest.mark.parametrize("container", ["pandas", "Arrow"] if SCIKIT_LEARN < (1, 9) else ["pandas", "polars", "Arrow"])
@pytest.mark.parametrize("case", GENERATIVE, ids=by_name)
def test_names_of_columns_appear_in_what_is_told(case: Case, container: str) -> None:
    X, y = case.rows()
    rows = CONTAINERS[container](X)
    model = case.make().fit(rows, y)
    told = {name for words in model.top_features(5).values() for name, _ in words}
    assert told
    assert told <= set(NAMES)
    assert model.contributions(rows, 1, 0).feature_names == NAMES


def test_a_column_with_a_value_of_its_own_in_every_row_is_pointed_out() -> None:
    rows = [[f"message number {i}", "ab"[i % 2]] for i in range(40)]
    y = ["spam", "ham"] * 20
    with pytest.warns(UserWarning, match="Column 'x0' has 40 different values in 40 rows.*CountVectorizer"):
        NaiveBayes().fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes(families={"x0": "categorical"}).fit(rows, y)
        NaiveBayes().fit([row[1:] for row in rows], y)


def incomes_and_ratios() -> tuple[pd.DataFrame, Any]:
    """A column of large numbers that says nothing, and one of small numbers that says much."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    table = pd.DataFrame({"income": rng.normal(5e4, 3e4, 300), "ratio": rng.normal(0.2, 0.05, 300) + 0.15 * y})
    return table, y


@pytest.mark.parametrize("labeled", [300, 40])
@pytest.mark.parametrize("make", [NaiveBayes, TableClassifier])
def test_the_units_of_one_column_do_not_matter_to_another(make: Any, labeled: int) -> None:
    table, y = incomes_and_ratios()
    known = np.where(np.arange(300) < labeled, y.astype(float), np.nan)
    labels = known if make is NaiveBayes else [None if np.isnan(k) else str(int(k)) for k in known]
    probabilities = []
    for unit in (1e-8, 1.0, 1e8):
        measured: Any = table.assign(income=table["income"] * unit)
        measured = measured if make is NaiveBayes else {name: measured[name].tolist() for name in measured}
        probabilities.append(make().fit(measured, labels).predict_proba(measured))
    assert ((probabilities[1][:, 1] > 0.5) == y).mean() > 0.9
    for other in probabilities:
        assert_allclose(other, probabilities[1], atol=1e-6)


def test_columns_that_a_floor_of_another_columns_units_drowns_are_named() -> None:
    table, y = incomes_and_ratios()
    with pytest.warns(UserWarning, match="'ratio' are smaller than that, .* is lost.*NaiveBayes"):
        model = GaussianNB().fit(table, y)
    assert len(model.notes_) == 1
    assert not GaussianNB(var_smoothing=1e-14).fit(table, y).notes_
    assert not GaussianNB().fit(table.assign(income=1.0), y).notes_


def test_a_class_whose_few_rows_all_say_zero_is_not_certain_of_every_zero() -> None:
    gain = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5000.0, 0.0]
    age = [21.0, 31.0, 39.0, 49.0, 36.0, 46.0, 54.0, 64.0]
    model = NaiveBayes(families="gaussian").fit(np.column_stack([gain, age]), ["low"] * 4 + ["high"] * 4)
    assert model.predict([[0.0, 30.0], [0.0, 80.0]]).tolist() == ["low", "high"]
    assert TableClassifier().var_smoothing == model.var_smoothing
