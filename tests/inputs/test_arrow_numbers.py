"""Arrow tables of numbers become the arrays that their data frames would become."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from softcount import BernoulliNB
from softcount.estimators._tables import read_numbers
from softcount.inputs.arrow_numbers import plain_numbers

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

TABLES = {
    "bytes": {"a": pa.array([1, 2, 3], pa.uint8()), "b": pa.array([4, 5, 6], pa.uint8())},
    "integers of two sizes": {"a": pa.array([1, 2, 3], pa.uint8()), "b": pa.array([4, 5, -6], pa.int64())},
    "integers of both signs that fit into no integer": {
        "a": pa.array([1, 2, 2**63], pa.uint64()),
        "b": pa.array([4, 5, -6], pa.int64()),
    },
    "integers with a missing cell": {"a": pa.array([1, None, 3], pa.int32()), "b": pa.array([4, 5, 6], pa.int32())},
    "single precision": {"a": pa.array([1.5, None, 3.0], pa.float32()), "b": pa.array([4, 5, 6], pa.int16())},
    "double and single precision": {"a": pa.array([1.5, 2.0, np.nan]), "b": pa.array([4, 5, 6], pa.float32())},
}


@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES.keys())
def test_cells_and_their_type_are_those_of_the_data_frame(columns):
    table = pa.concat_tables([pa.table(columns), pa.table(columns).slice(1)])
    expected = table.to_pandas().to_numpy()
    found = plain_numbers(table)
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": ["x", "y"]}),
        pa.table({"a": [1, 2], "b": [True, False]}),
        pa.table({"a": pa.array([1, 2]).dictionary_encode()}),
        pa.table({"a": pa.nulls(2)}),
        pa.table({}),
        pa.Table.from_pandas(pd.DataFrame({"a": pd.array([1, 2], dtype="Int64")})),
        pd.DataFrame({"a": [1, 2]}),
        np.ones((2, 2)),
    ],
    ids=["texts", "truth", "categories", "nothing", "no columns", "pandas integers", "data frame", "array"],
)
def test_anything_but_plain_numbers_is_left_to_others(table):
    assert plain_numbers(table) is None


def test_what_pandas_wrote_from_plain_columns_is_plain():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan]})
    assert_array_equal(plain_numbers(pa.Table.from_pandas(frame, preserve_index=False)), frame.to_numpy())


def known(*names):
    model = BernoulliNB()
    model.n_features_in_, model.feature_names_in_ = len(names), np.array(names, dtype=object)
    return model


def test_columns_in_another_order_are_still_refused():
    with pytest.raises(ValueError, match="feature names"):
        read_numbers(known("b", "a"), pa.table({"a": [1, 2], "b": [3, 4]}), reset=False)


def test_an_infinite_cell_is_named_as_before():
    with pytest.raises(ValueError, match="row 1, column 'b'"):
        read_numbers(known("a", "b"), pa.table({"a": [1.0, 2.0], "b": [3.0, np.inf]}), reset=False)


def test_a_table_of_known_columns_makes_no_data_frame(monkeypatch):
    from softcount.estimators import _tables

    def refuse(*args, **kwargs):
        raise AssertionError("a data frame was made")

    monkeypatch.setattr(_tables, "validate_data", refuse)
    found = read_numbers(known("a", "b"), pa.table({"a": [1.0, 2.0], "b": [3.0, np.nan]}), reset=False)
    assert_array_equal(found, [[1.0, 3.0], [2.0, np.nan]])
