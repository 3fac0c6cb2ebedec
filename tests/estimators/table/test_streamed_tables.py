"""Tables that are not in memory: a first pass learns categories and vocabularies, and the answers are the same."""

import dask
import numpy as np
import pandas as pd
import pytest

from softcount.demo import load_messages
from softcount.estimators.table import TableClassifier, TextOptions, streamed
from softcount.estimators.table.streamed import some_rows_of_pieces
from softcount.inputs.raw_table import RawTable


def messages(n_labeled):
    """A table of texts, a category, a number with holes and a count, and labels."""
    texts, labels = load_messages()
    rng = np.random.default_rng(3)
    n_rows = len(texts)
    is_spam = np.array([label == "spam" for label in labels])
    color = np.array(["red", "green", "late"], dtype=object)[(is_spam + rng.integers(0, 2, n_rows)) % 3]
    color[:300][color[:300] == "late"] = "red"
    height = (rng.normal(size=n_rows) + is_spam).round(3).astype(object)
    height[rng.random(n_rows) < 0.1] = ""
    table = {"text": list(texts), "color": color.tolist(), "height": [str(v) for v in height]}
    known = rng.permutation(n_rows) < n_labeled
    return RawTable(table, range(n_rows)), [y if k else None for y, k in zip(labels, known, strict=True)]


def pieces_of(table, labels, size=130):
    return lambda: (
        (table.rows(start, min(start + size, table.n_rows)), np.array(labels[start : start + size], dtype=object))
        for start in range(0, table.n_rows, size)
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"unlabeled_weight": 0.0},
        {"event_model": "bernoulli", "alpha": 0.5, "calibrate": "isotonic"},
        {"text": TextOptions(words=(1, 2), min_rows=2, most=300), "event_model": "multinomial"},
        {"text": TextOptions(n_hashed=512), "alpha": 1.0},
        {"text": TextOptions(words=None, characters=(2, 3), stop_words=("the",)), "unlabeled_weight": 1.0},
    ],
)
def test_pieces_teach_what_the_whole_table_does(settings):
    table, labels = messages(200)
    memory = TableClassifier(random_state=0, **settings).fit(table, labels)
    model = TableClassifier(random_state=0, **settings).fit(pieces_of(table, labels))
    assert model.treatment_.feature_names() == memory.treatment_.feature_names()
    assert [(r.name, r.role) for r in model.treatment_.roles] == [(r.name, r.role) for r in memory.treatment_.roles]
    assert model.setting_ == memory.setting_
    assert model.unlabeled_use_ == memory.unlabeled_use_
    for one, other in zip(memory.params_.blocks, model.params_.blocks, strict=True):
        for name, values in one.items():
            np.testing.assert_allclose(other[name], values, rtol=1e-8, atol=1e-10, err_msg=name)
    np.testing.assert_allclose(model.predict_proba(table), memory.predict_proba(table), rtol=1e-7, atol=1e-9)
    assert model.evaluation_.accuracy == pytest.approx(memory.evaluation_.accuracy)


def test_delayed_pieces_on_a_cluster_teach_the_same(two_workers):
    table, labels = messages(200)
    memory = TableClassifier(random_state=0).fit(table, labels)
    parts = [dask.delayed(part) for part in pieces_of(table, labels)()]
    model = TableClassifier(random_state=0).fit(parts)
    assert model.treatment_.feature_names() == memory.treatment_.feature_names()
    np.testing.assert_allclose(model.predict_proba(table), memory.predict_proba(table), rtol=1e-7, atol=1e-9)


def test_a_folder_of_parquet_files_with_texts_teaches_the_same(tmp_path):
    pytest.importorskip("pyarrow")
    table, labels = messages(200)
    frame = pd.DataFrame({**table.columns, "label": labels})
    for number, start in enumerate(range(0, len(frame), 300)):
        frame.iloc[start : start + 300].to_parquet(tmp_path / f"part-{number}.parquet")
    memory = TableClassifier(random_state=0).fit(frame.drop(columns="label"), labels)
    model = TableClassifier(random_state=0).fit(tmp_path, "label")
    assert model.treatment_.feature_names() == memory.treatment_.feature_names()
    np.testing.assert_allclose(model.predict_proba(table), memory.predict_proba(table), rtol=1e-7, atol=1e-9)


def test_cells_that_do_not_fit_what_was_decided_are_named(monkeypatch):
    monkeypatch.setattr(streamed, "DECIDING_ROWS", 100)
    table, labels = messages(200)
    table.columns["height"][401] = "tall"
    with pytest.raises(ValueError, match=r"In batch 3: Row 401, column 'height' holds 'tall'; expected a number"):
        TableClassifier().fit(pieces_of(table, labels))


def test_rows_to_decide_on_are_spread_over_all_pieces():
    table = RawTable({"x": list(range(1000))}, range(1000))
    pieces = [table.rows(start, start + 37) for start in range(0, 1000, 37)]
    some = some_rows_of_pieces(pieces, 100)
    assert 50 <= some.n_rows <= 100
    assert set(np.diff(some.columns["x"])) == {16}
