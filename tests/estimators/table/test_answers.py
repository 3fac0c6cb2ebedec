"""What is said of rows that were held out."""

from pathlib import Path

import numpy as np
import pytest

import softcount
from softcount.demo import load_messages
from softcount.estimators.table import TableClassifier
from softcount.estimators.table.answers import DOUBT, answers_of


def test_several_answers_about_a_row_are_averaged() -> None:
    posterior = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]])
    found = answers_of(posterior, np.array([4, 1, 4, 4]), np.array([0, 1, 0, 0], dtype=np.int32))
    assert found.rows.tolist() == [1, 4]
    assert found.codes.tolist() == [1, 0]
    assert found.label_probability == pytest.approx([0.8, (0.9 + 0.5 + 0.3) / 3])
    assert found.second_probability == pytest.approx([0.2, 1 - (0.9 + 0.5 + 0.3) / 3])


def test_labels_are_suspected_where_the_answer_contradicts_them_strongly_and_worst_first() -> None:
    posterior = np.array([[0.95, 0.05], [0.01, 0.99], [0.2, 0.8], [0.99, 0.01]])
    found = answers_of(posterior, np.arange(4), np.array([1, 0, 0, 0], dtype=np.int32))
    assert found.suspects().tolist() == [1, 0]
    assert found.suspects(0.0).tolist() == [1, 0, 2]
    assert found.least_sure()[0] == 2


def test_as_many_suspects_are_expected_as_probabilities_that_hold_would_give() -> None:
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet([0.1, 0.2, 0.3], 40_000)
    truth = (posterior.cumsum(axis=1) < rng.random((40_000, 1))).sum(axis=1).astype(np.int32)
    found = answers_of(posterior, np.arange(40_000), truth)
    observed = found.suspects(DOUBT).size
    assert observed == pytest.approx(found.n_expected_suspects, abs=4 * np.sqrt(found.n_expected_suspects))


def test_accuracy_is_told_for_answers_that_are_stated_with_at_least_some_probability() -> None:
    posterior = np.array([[0.95, 0.05], [0.95, 0.05], [0.6, 0.4], [0.45, 0.55]])
    found = answers_of(posterior, np.arange(4), np.array([0, 1, 0, 1], dtype=np.int32))
    sure = {s.at_least: s for s in found.sureness}
    assert (sure[0.5].share, sure[0.5].accuracy) == (1.0, 0.75)
    assert (sure[0.9].share, sure[0.9].n_rows, sure[0.9].accuracy) == (0.5, 2.0, 0.5)
    assert np.isnan(sure[0.99].accuracy)


def test_rows_without_labels_have_answers_but_no_accuracy() -> None:
    found = answers_of(np.array([[0.7, 0.3]]), np.array([5]))
    assert (len(found), found.sureness, found.codes.tolist()) == (1, (), [-1])
    assert np.isnan(found.label_probability).all()
    assert found.suspects().size == 0


def test_a_classifier_keeps_its_held_out_answers_but_writes_none_to_its_file(tmp_path: Path) -> None:
    texts, labels = load_messages()
    some = [label if i < 60 else None for i, label in enumerate(labels)]
    model = TableClassifier(random_state=0).fit({"text": texts}, some)
    assert model.held_out_ is not None
    assert model.held_out_.rows.tolist() == list(range(60))
    classes = model.classes_.tolist()
    assert [classes[k] for k in model.held_out_.codes] == labels[:60]
    model.save(tmp_path / "m.softcount")
    assert not hasattr(softcount.load(tmp_path / "m.softcount"), "held_out_")


@pytest.mark.parametrize("event_model", ["multinomial", "bernoulli"])
def test_rows_that_were_kept_are_answered_as_the_table_is_and_stay_out_of_the_file(
    event_model: str, tmp_path: Path
) -> None:
    texts, labels = load_messages()
    table = {"text": texts, "size": [str(len(text)) for text in texts]}
    some = [label if i < 60 else None for i, label in enumerate(labels)]
    model = TableClassifier(event_model=event_model, random_state=0).fit(table, some, keep_rows=True)
    assert model.counted_ is not None
    rows = np.array([5, 700, 3])
    told = model.predict_proba({name: [cells[i] for i in rows] for name, cells in table.items()})
    assert model.predict_proba(model.counted_.take(rows)) == pytest.approx(told, rel=1e-12)
    model.save(tmp_path / "m.softcount")
    assert not hasattr(softcount.load(tmp_path / "m.softcount"), "counted_")
    assert model.fit(table, some).counted_ is None
