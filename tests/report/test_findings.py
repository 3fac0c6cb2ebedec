"""What a report finds in data and answers, and how it says so."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from softcount.estimators.table import TableClassifier
from softcount.estimators.table.answers import answers_of
from softcount.estimators.table.evaluation import evaluate, wilson_interval
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole, decide_roles
from softcount.report.build import Origin, report_training
from softcount.report.checks import data_warnings, missing_shares
from softcount.report.data import LIMITS, Class, Quality, Report, Row, Rows
from softcount.report.picks import RowPicker, merge_rows, pick_next
from softcount.report.quality import describe_classes, describe_quality
from softcount.report.verdict import give_verdict
from softcount.report.wording import listed, shown
from tests.report.conftest import make_report

WORDS = {"fruit": "apple pear plum", "tool": "hammer saw drill", "bird": "robin wren finch"}


def words_table(n: int, n_own: int = 4) -> tuple[RawTable, list[str]]:
    """Rows of some words of their class, and two of any."""
    rng = np.random.default_rng(0)
    truth = [str(name) for name in rng.choice(list(WORDS), n)]
    every = " ".join(WORDS.values()).split()
    texts = [" ".join([*rng.choice(WORDS[name].split(), n_own), *rng.choice(every, 2)]) for name in truth]
    numbers = [str(round(float(x), 3)) for x in rng.normal(size=n)]
    return RawTable({"text": texts, "size": numbers}, range(2, n + 2), "line"), truth


def report_of(table: RawTable, labels: Sequence[str | None]) -> Report:
    model = TableClassifier(random_state=0).fit(table, labels)
    return report_training(model, table, labels, Origin("softcount train x.csv", ["x.csv"], "label", "x.softcount"))


@pytest.fixture(scope="module")
def report() -> Report:
    """Of 300 rows, 90 of them labeled and three of those wrongly."""
    table, truth = words_table(300)
    labels: list[str | None] = [name if i < 90 else None for i, name in enumerate(truth)]
    for row in (5, 6, 7):
        labels[row] = next(name for name in WORDS if name != truth[row])
    return report_of(table, labels)


# ---- labels that look wrong
def test_labels_that_were_set_wrong_on_purpose_are_found_first(report: Report) -> None:
    assert report.suspects is not None
    assert {"line 7", "line 8", "line 9"} <= {row.where for row in report.suspects.rows[:5]}
    assert all(row.label != row.predicted for row in report.suspects.rows)
    assert all(row.label_probability is not None and row.label_probability < 0.1 for row in report.suspects.rows)
    assert report.suspects.n_expected is not None
    assert report.suspects.n_found > report.suspects.n_expected


def test_a_rows_own_label_has_no_part_in_the_answer_that_doubts_it() -> None:
    table, truth = words_table(60)
    labels: list[str | None] = list(truth)
    probability = []
    for label in WORDS:
        labels[5] = label
        model = TableClassifier(random_state=0, event_model="multinomial", alpha=1.0, calibrate="none")
        held = model.fit(table, labels).held_out_
        assert held is not None
        place = int(np.flatnonzero(held.rows == 5)[0])
        probability.append((model.classes_[held.predicted[place]], held.probability[place]))
    # Folds differ a little with the label, as classes are dealt out evenly; the answer does not follow it.
    assert len({name for name, _ in probability}) == 1
    assert np.ptp([p for _, p in probability]) < 0.2


# ---- least sure
def test_the_least_sure_rows_come_in_the_order_of_their_lead(report: Report) -> None:
    assert report.least_sure is not None
    leads = [row.probability - row.second_probability for row in report.least_sure.rows]
    assert leads == sorted(leads)


def test_picking_from_pieces_is_picking_from_the_whole() -> None:
    rng = np.random.default_rng(3)
    posterior = rng.dirichlet([1.0, 1.0, 1.0], 500)
    codes = rng.integers(0, 3, 500).astype(np.int32)
    table = RawTable({"text": [f"row number {i}" for i in range(500)]}, range(500))
    picker = RowPicker(list(WORDS), decide_roles(table.columns))

    def lead(row: Row) -> float:
        return row.probability - row.second_probability

    whole = picker.least_sure(table, answers_of(posterior, np.arange(500), codes))
    parts = [
        picker.least_sure(table.rows(a, a + 50), answers_of(posterior[a : a + 50], np.arange(50), codes[a : a + 50]))
        for a in range(0, 500, 50)
    ]
    assert merge_rows(parts, LIMITS.least_sure, lead) == whole


# ---- what to label next
def test_rows_to_label_next_are_unlabeled_and_say_why_they_were_chosen() -> None:
    table, truth = words_table(300, n_own=1)
    report = report_of(table, [name if i < 90 else None for i, name in enumerate(truth)])
    assert report.next is not None
    reasons = [row.reason.partition(":")[0] for row in report.next.rows]
    assert set(reasons) == {"Uncertain", "Drawn at random"}
    assert all(int(row.where.split()[1]) >= 92 for row in report.next.rows)
    assert all(row.label is None for row in report.next.rows)
    uncertain = [r for r, why in zip(report.next.rows, reasons, strict=True) if why == "Uncertain"]
    assert max(row.probability for row in uncertain) < 0.95


def test_likely_rows_of_a_rare_class_are_proposed_and_equal_rows_only_once() -> None:
    table = RawTable({"text": ["the same words again"] * 30 + [f"another text {i}" for i in range(30)]}, range(60))
    posterior = np.array([[0.4, 0.3, 0.3]] * 30 + [[0.05, 0.05, 0.9]] * 30)
    picker = RowPicker(list(WORDS), decide_roles(table.columns))

    found = pick_next(posterior.__getitem__, table, np.arange(60), picker, n_labels=[40, 40, 2], seed=0)
    assert found is not None
    rare = [row for row in found.rows.rows if row.reason.startswith("Rare class: perhaps 'bird'")]
    assert len(rare) == 4
    assert all(row.predicted == "bird" for row in rare)
    assert sum(row.cells[0].text == "the same words again" for row in found.rows.rows) == 1
    assert found.shares == pytest.approx([0.5, 0.0, 0.5])
    assert (
        pick_next(posterior.__getitem__, table, np.array([], dtype=np.int64), picker, n_labels=[1, 1, 1], seed=0)
        is None
    )


# ---- quality
def test_recall_and_precision_are_shares_of_the_confusion_with_wilsons_interval() -> None:
    posterior = np.eye(2)[[0, 0, 0, 1, 1, 0]] * 0.8 + 0.1
    codes = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    found = evaluate(posterior, posterior, codes, np.arange(6))
    fruit, tool = describe_classes(["fruit", "tool"], {"fruit": 3, "tool": 3}, found)
    assert (fruit.recall, fruit.precision) == (1.0, 0.75)
    assert tool.recall == pytest.approx(2 / 3)
    assert tool.recall_interval == pytest.approx(wilson_interval(2 / 3, 3))
    quality = describe_quality(found, ["fruit", "tool"], how="held out")
    assert quality.confusion == ((3.0, 0.0), (1.0, 2.0))
    assert [(c.label, c.predicted, c.n_rows) for c in quality.confusions] == [("tool", "fruit", 1.0)]
    assert quality.reliability[0].interval == pytest.approx(wilson_interval(5 / 6, 6))


def test_the_commonest_class_is_that_of_most_rows_and_not_that_of_most_answers() -> None:
    codes = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    posterior = np.eye(2)[[0, 1, 1, 1, 1, 1]] * 0.8 + 0.1
    quality = describe_quality(evaluate(posterior, posterior, codes, np.arange(6)), ["fruit", "tool"], how="held out")
    assert quality.commonest_class == "fruit"
    assert quality.accuracy_of_commonest_class == pytest.approx(4 / 6)
    assert quality.accuracy == pytest.approx(0.5)


def test_many_classes_have_no_matrix_but_their_commonest_mistakes() -> None:
    n = LIMITS.matrix + 30
    codes = np.arange(n, dtype=np.int32)
    posterior = np.full((n, n), 1e-6)
    posterior[codes, (codes + 1) % n] = 1.0
    quality = describe_quality(evaluate(posterior, posterior, codes, codes), [str(k) for k in codes], how="held out")
    assert quality.confusion is None
    assert (len(quality.confusions), quality.n_confusions) == (LIMITS.confusions, n)


# ---- the verdict
def verdict_of(quality: Quality | None, classes: Sequence[Class] = (), suspects: Rows | None = None) -> tuple[str, str]:
    found = give_verdict(quality, classes, suspects, None, None)
    return found.grade, " ".join([found.headline, *found.sentences, *[f"{a.do} {a.why}" for a in found.advice]])


def test_the_verdict_is_no_better_than_the_evidence() -> None:
    quality = make_report().evaluation
    assert quality is not None
    assert verdict_of(None)[0] == "unknown"
    assert verdict_of(quality)[0] == "clearly better than guessing"
    assert verdict_of(replace(quality, accuracy=0.7, accuracy_interval=(0.65, 0.75)))[0] == "better than guessing"
    grade, words = verdict_of(replace(quality, accuracy=0.7, accuracy_interval=(0.55, 0.8)))
    assert grade == "not shown to work"
    assert "Not shown to be better than always saying 'class'" in words


def test_advice_names_what_is_lacking() -> None:
    quality = make_report().evaluation
    assert quality is not None
    assert "four times as many labels halve that" in verdict_of(quality)[1]
    known = replace(quality, accuracy_interval=(0.89, 0.91))
    assert "four times" not in verdict_of(known)[1]
    assert "Label more rows of 'x' (3)" in verdict_of(known, [Class("x", 3), Class("y", 50)])[1]
    assert "Check the 9 labels" in verdict_of(known, (), Rows((), 9, 60, 60, 1.0))[1]
    assert "Check" not in verdict_of(known, (), Rows((), 9, 60, 60, 8.0))[1]


# ---- warnings about data
def warnings_of(texts: list[str], labels: list[str | None], **columns: list[str]) -> str:
    table = RawTable({"text": texts, **columns}, range(len(texts)))
    roles = [ColumnRole("text", "text", "words"), *[ColumnRole(name, "number", "numbers") for name in columns]]
    return "\n".join(data_warnings(table, labels, roles, missing_shares(table, [""])))


def test_contradicting_and_repeated_labels_are_told_apart() -> None:
    texts = ["one", "one", "two", "two", "three", "three", "four"]
    found = warnings_of(texts, ["a", "b", "a", "a", "b", "b", None])
    assert "2 labeled rows have the same cells as another one but not the same label" in found
    assert "row 0 is 'a' and row 1 is 'b'" in found
    assert "3 labeled rows of 6 repeat another one" in found
    assert "labeled rows" not in warnings_of([f"text {i}" for i in range(40)], ["a", "b"] * 20)


def test_rare_and_similar_classes_and_empty_columns_are_told() -> None:
    labels: list[str | None] = ["spam"] * 20 + ["Spam"] * 20 + ["ham"] * 20 + ["odd"]
    found = warnings_of([f"t {i}" for i in range(61)], labels, age=["1"] * 10 + [""] * 51)
    assert "'odd' has a single label" in found
    assert "The classes 'spam' and 'Spam' differ only in how they are written" in found
    assert "Column 'age' lacks 83.6 % of its cells" in found
    assert "differ only" not in warnings_of(["a", "b"] * 20, ["<=50K", ">50K"] * 20)


def test_labels_that_are_not_like_the_other_rows_are_told() -> None:
    table = RawTable({"text": [f"text {i}" for i in range(40)]}, range(40))
    roles = [ColumnRole("text", "text", "words")]
    labels = ["x"] * 30 + ["y"] * 10
    found = data_warnings(table, labels, roles, {}, shares=np.array([0.3, 0.7]), names=["x", "y"])
    assert any("'x' is 75.0 % of the labels, but 30.0 % of the predictions" in text for text in found)
    assert not data_warnings(table, labels, roles, {}, shares=np.array([0.7, 0.3]), names=["x", "y"])


# ---- texts of others
def test_texts_are_cut_and_lose_what_no_page_can_show() -> None:
    assert shown("a\x00b\x1b[31m\u202ec\ud800 \n d", 50) == "a\ufffdb\ufffd[31m\ufffdc\ufffd d"
    assert shown("x" * 100, 10) == "x" * 9 + "…"
    assert len(shown("é " * 10_000_000, 40)) <= 40
    assert listed(["a"]) == "a"
    assert listed([*"abcdefg"], most=3) == "a, b and 5 more"
