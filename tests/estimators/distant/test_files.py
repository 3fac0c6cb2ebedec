"""Parquet files, folders, datasets and mapped arrays as rows; and what is said when something is wrong with them."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import softcount as sc
from softcount._errors import InputError
from tests.estimators.distant.cases import assert_learned_the_same, labels_for, numbers, table


@pytest.fixture(scope="module")
def frame():
    X, z = table()
    rng = np.random.default_rng(1)
    return X.assign(who=labels_for(z, rng, some=False), w=rng.integers(1, 4, z.shape[0]).astype(float))


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """The rows in three files of several row groups each."""
    folder = tmp_path_factory.mktemp("rows")
    for number, (start, stop) in enumerate([(0, 900), (900, 901), (901, 3000)]):
        frame.iloc[start:stop].to_parquet(folder / f"part-{number}.parquet", row_group_size=350)
    return folder


@pytest.fixture(scope="module")
def in_memory(frame):
    return sc.NaiveBayes().fit(frame.drop(columns=["who", "w"]), frame["who"], frame["w"])


def test_a_folder_of_files_teaches_what_the_table_does(folder, frame, in_memory):
    model = sc.NaiveBayes().fit(folder, "who", sample_weight="w")
    assert_learned_the_same(in_memory, model)
    assert model.column_report() == in_memory.column_report()
    assert model.feature_names_in_.tolist() == ["color", "height", "rooms", "has_garden", "visits"]
    answers = np.concatenate(list(model.predict(folder)))
    assert answers.tolist() == in_memory.predict(frame.drop(columns=["who", "w"])).tolist()
    expected = in_memory.score(frame.drop(columns=["who", "w"]), frame["who"], frame["w"])
    assert model.score(folder, "who", sample_weight="w") == pytest.approx(expected, rel=1e-12)


def test_one_file_a_dataset_and_labels_beside_the_file_do_as_well(folder, frame, in_memory, tmp_path):
    file = tmp_path / "rows.parquet"
    frame.to_parquet(file, row_group_size=1000)
    assert_learned_the_same(in_memory, sc.NaiveBayes().fit(str(file), "who", "w"))
    assert_learned_the_same(in_memory, sc.NaiveBayes().fit(ds.dataset(folder), "who", "w"))
    frame.drop(columns=["who", "w"]).to_parquet(file)
    beside = sc.NaiveBayes().fit(file, frame["who"], frame["w"].to_numpy())
    assert_learned_the_same(in_memory, beside)


def test_filtered_and_partitioned_datasets_are_read_as_datasets(frame, tmp_path, in_memory):
    ds.write_dataset(
        pa.Table.from_pandas(frame, preserve_index=False),
        tmp_path,
        partitioning=["who"],
        partitioning_flavor="hive",
        format="parquet",
    )
    with pytest.raises(InputError, match="keeps columns in the names of its folders"):
        sc.NaiveBayes().fit(tmp_path, "who")
    rows = ds.dataset(tmp_path, partitioning="hive")
    model = sc.NaiveBayes().fit(rows, "who", "w")
    np.testing.assert_allclose(model.class_count_, in_memory.class_count_)
    few = sc.NaiveBayes().fit(rows.filter(ds.field("visits") < 100), "who")
    assert few.class_count_.sum() == (frame["visits"] < 100).sum()


def test_columns_with_holes_in_one_row_group_are_of_one_type(tmp_path):
    rooms = pd.array([1, 2, 3, 4] * 50, dtype="Int64")
    rooms[150] = pd.NA
    rows = pd.DataFrame({"rooms": rooms, "y": ["a", "b"] * 100})
    rows.to_parquet(tmp_path / "x.parquet", row_group_size=50)
    for estimator in (sc.NaiveBayes(), sc.CategoricalNB(), sc.GaussianNB()):
        X = rows[["rooms"]] if isinstance(estimator, sc.NaiveBayes) else rows[["rooms"]].astype(float)
        memory = estimator.fit(X, rows["y"])
        expected = {**vars(memory)}
        streamed = type(estimator)().fit(tmp_path / "x.parquet", "y")
        for one, other in zip(expected["params_"].blocks, streamed.params_.blocks, strict=True):
            for name in one:
                np.testing.assert_allclose(other[name], one[name], rtol=1e-10)


def test_a_mapped_array_is_learned_from_and_answered_as_an_array(tmp_path):
    X, z = numbers()
    mapped = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    y = labels_for(z, np.random.default_rng(0), some=False)
    memory, model = sc.GaussianNB().fit(X, y), sc.GaussianNB().fit(mapped, y)
    assert_learned_the_same(memory, model)
    assert isinstance(model.predict_proba(mapped), np.ndarray)
    assert model.score(mapped, y) == memory.score(X, y)


def test_batches_may_come_from_a_function_or_be_record_batches(frame, in_memory):
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    assert_learned_the_same(in_memory, sc.NaiveBayes().fit(lambda: iter(whole.to_batches(400)), "who", "w"))

    class Anew:
        def __iter__(self):
            return iter([frame.iloc[:1000], frame.iloc[1000:]])

    assert_learned_the_same(in_memory, sc.NaiveBayes().fit(Anew(), "who", "w"))


def test_an_iterator_is_refused_for_it_can_be_read_once_only(frame):
    with pytest.raises(InputError, match="an iterator, which can be gone through once"):
        sc.NaiveBayes().fit(iter([frame]), "who")


def test_rows_that_change_between_passes_are_refused():
    X, z = numbers(400)
    turns = []

    def shrinking():
        turns.append(1)
        return iter([(X[: 400 - len(turns)], z[: 400 - len(turns)])])

    with pytest.raises(InputError, match="The rows changed while they were being learned from"):
        sc.GaussianNB().fit(shrinking)


def test_a_damaged_row_group_is_named_with_its_file(folder, tmp_path):
    damaged = tmp_path / "part-0.parquet"
    content = bytearray((folder / "part-0.parquet").read_bytes())
    place = pq.ParquetFile(folder / "part-0.parquet").metadata.row_group(1).column(1).data_page_offset
    content[place : place + 60] = b"\xff" * 60
    damaged.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(f"{damaged}, row group 1, cannot be read after row 0")):
        sc.NaiveBayes().fit(tmp_path, "who")


def test_a_file_that_is_none_is_named(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"not a table")
    with pytest.raises(InputError, match=r"x\.parquet cannot be read as Parquet"):
        sc.GaussianNB().fit(tmp_path, "y")
    with pytest.raises(InputError, match="There is no file or folder"):
        sc.GaussianNB().fit("nowhere.parquet", "y")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="There is no Parquet file"):
        sc.GaussianNB().fit(tmp_path / "empty")


def test_files_with_other_columns_or_types_are_refused(frame, tmp_path):
    frame.iloc[:10].to_parquet(tmp_path / "a.parquet")
    frame.iloc[:10].drop(columns="height").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"a\.parquet has 'height', .*b\.parquet has not"):
        sc.NaiveBayes().fit(tmp_path, "who")
    frame.iloc[:10].assign(height="tall").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"'height' holds numbers in .*a\.parquet, but texts in .*b\.parquet"):
        sc.NaiveBayes().fit(tmp_path, "who")


def test_a_cell_that_cannot_be_learned_from_is_said_to_be_where_it_is(tmp_path):
    rows = pd.DataFrame({"x": np.arange(100.0), "y": ["a", "b"] * 50})
    rows.loc[73, "x"] = np.inf
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=20)
    with pytest.raises(InputError, match=r"rows\.parquet, row group 3, rows 0 to 19: .*row 13.*'x'"):
        sc.GaussianNB().fit(tmp_path, "y")


def test_a_column_that_is_not_there_is_named(folder):
    with pytest.raises(InputError, match="has no column 'lable'"):
        sc.NaiveBayes().fit(folder, "lable")
    model = sc.NaiveBayes().fit(folder, "who")
    model.feature_names_in_ = np.array(["color", "size"], dtype=object)
    with pytest.raises(InputError, match="'size'"):
        list(model.predict(folder))


def test_labels_unseen_in_the_first_batch_missing_labels_and_texts_are_read_as_in_memory(tmp_path):
    X, z = numbers(600)
    y = np.array(["x", "y", "z"], dtype=object)[z]
    y[:200] = "x"
    y[np.random.default_rng(0).random(600) < 0.3] = None
    rows = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    memory = sc.GaussianNB(unlabeled_weight=1.0).fit(rows[list("abcd")], y)
    model = sc.GaussianNB(unlabeled_weight=1.0).fit(tmp_path, "label")
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert_learned_the_same(memory, model)


def test_numbers_as_labels_with_nan_and_sets_and_probabilities_are_read_as_in_memory():
    X, z = numbers(600)
    rng = np.random.default_rng(0)
    some = np.where(rng.random(600) < 0.5, np.nan, z.astype(float))
    sets = np.empty(600, dtype=object)
    sets[:] = [int(k) if i % 3 else {int(k), (int(k) + 1) % 3} for i, k in enumerate(z)]
    soft = rng.dirichlet(np.ones(3), 600)
    for y in (some, sets, soft):
        settings = {"unlabeled_weight": 1.0, "max_iter": 10, "tol": 0.0}
        memory = sc.GaussianNB(**settings).fit(X, y)
        streamed = sc.GaussianNB(**settings).fit([(X[:100], y[:100]), (X[100:], y[100:])])
        assert streamed.classes_.tolist() == memory.classes_.tolist()
        assert_learned_the_same(memory, streamed)


def test_weights_that_are_all_zero_leave_nothing_to_learn():
    X, z = numbers(60)
    with pytest.raises(InputError, match="zero in all rows"):
        sc.GaussianNB().fit([(X, z, np.zeros(60))])


def test_complement_naive_bayes_wants_all_labels():
    X = np.array([[1, 2], [3, 0], [0, 1]])
    model = sc.ComplementNB().fit([(X[:1], ["a"]), (X[1:], ["b", "a"])])
    np.testing.assert_allclose(model.feature_log_prob_, sc.ComplementNB().fit(X, ["a", "b", "a"]).feature_log_prob_)
    with pytest.raises(InputError, match="cannot learn from unlabeled rows"):
        sc.ComplementNB().fit([(X[:1], ["a"]), (X[1:], ["b", None])])


def test_progress_says_how_long_a_pass_will_take(folder, capsys, monkeypatch):
    monkeypatch.setattr("softcount.core.progress.SECONDS_BETWEEN", 0.0)
    sc.NaiveBayes(verbose=1).fit(folder, "who")
    said = capsys.readouterr().err
    assert re.search(r"\[NaiveBayes\] pass 1: [\d,]+ rows, [\d,]+ a second, \d+ %, about \d+ s left", said)


def test_questions_that_need_all_rows_say_so(folder):
    model = sc.Mixture(2, n_init=2, max_iter=5).fit(folder)
    with pytest.raises(InputError, match="rows in memory alone"):
        model.classification(folder)
    assert model.bic(folder) == pytest.approx(-2 * model.log_likelihood_ + model.n_parameters_ * np.log(3000), rel=1e-9)
