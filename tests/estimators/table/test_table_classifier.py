"""The classifier of tables: the same model as the estimators for single kinds of columns."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import softcount
from softcount._errors import InputError
from softcount.demo import load_messages
from softcount.estimators.table import TableClassifier
from softcount.estimators.table.evaluation import evaluate, wilson_interval

TEXTS, LABELS = load_messages()
SOME = [label if i < 60 else None for i, label in enumerate(LABELS)]
FIXED = {"event_model": "multinomial", "alpha": 1.0}


def test_one_text_column_is_multinomial_naive_bayes_of_its_words() -> None:
    X = CountVectorizer().fit_transform(TEXTS)
    expected = softcount.MultinomialNB().fit(X, SOME)
    found = TableClassifier(**FIXED).fit({"text": TEXTS}, SOME)
    assert found.unlabeled_use_ == expected.unlabeled_use_
    np.testing.assert_allclose(found.predict_proba({"text": TEXTS}), expected.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_occurrence_of_words_is_bernoulli_naive_bayes() -> None:
    X = CountVectorizer(binary=True).fit_transform(TEXTS)
    expected = softcount.BernoulliNB().fit(X, LABELS)
    found = TableClassifier(event_model="bernoulli", alpha=1.0, calibrate="none").fit({"text": TEXTS}, LABELS)
    np.testing.assert_allclose(found.predict_proba({"text": TEXTS}), expected.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_columns_without_texts_are_mixed_naive_bayes() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    x = rng.normal(size=120) + (y == "a")
    color = rng.choice(["red", "blue", "green"], 120)
    expected = softcount.NaiveBayes().fit(np.column_stack([x.astype(object), color.astype(object)]), y)
    table = {"x": [repr(v) for v in x.tolist()], "color": color.tolist()}
    found = TableClassifier(alpha=1.0, calibrate="none").fit(table, y)
    want = expected.predict_proba(np.column_stack([x.astype(object), color.astype(object)]))
    np.testing.assert_allclose(found.predict_proba(table), want, rtol=1e-9)


def test_evidence_of_blocks_adds_up_because_they_are_independent_given_the_class() -> None:
    table = {"text": TEXTS, "n": [len(text) / 7 for text in TEXTS], "end": [text[-1] for text in TEXTS]}
    model = TableClassifier(**FIXED).fit(table, SOME)
    found = model.contributions(table)
    log_odds = np.diff(model.predict_joint_log_proba(table), axis=1)[:, 0]
    with_words = model.contributions({**table, "text": [""] * len(TEXTS)})
    assert found.values.shape == (len(TEXTS), len(model.treatment_.feature_names()))
    assert np.sign(found.total()) == pytest.approx(np.sign(log_odds))
    assert with_words.values[:, 2:].sum() == 0.0


def test_a_missing_text_says_nothing() -> None:
    model = TableClassifier(**FIXED, calibrate="none").fit({"text": TEXTS}, LABELS)
    prior = np.exp(model.class_log_prior_)
    np.testing.assert_allclose(model.predict_proba({"text": [None, "", "zzzz"]}), np.tile(prior, (3, 1)), rtol=1e-12)


def test_settings_are_chosen_by_cross_validation_and_reported() -> None:
    model = TableClassifier().fit({"text": TEXTS}, LABELS)
    assert model.setting_ in model.setting_scores_
    assert len(model.setting_scores_) == 4
    assert model.evaluation_.n_rows == len(TEXTS)
    assert model.evaluation_.after.error < model.evaluation_.before.error
    assert model.evaluation_.log_loss < model.evaluation_.log_loss_before


def test_columns_that_say_nothing_are_left_out_with_a_reason() -> None:
    table = {"row": list(range(len(TEXTS))), "text": TEXTS, "same": ["x"] * len(TEXTS), "gap": [None] * len(TEXTS)}
    model = TableClassifier(**FIXED).fit(table, SOME)
    assert [role.role for role in model.treatment_.roles] == ["id", "text", "constant", "empty"]
    assert "whole numbers, every one different" in model.column_report()
    assert model.predict({"text": TEXTS[:5]}).shape == (5,)


def test_prediction_refuses_a_table_that_lacks_a_column() -> None:
    model = TableClassifier(**FIXED).fit({"text": TEXTS}, SOME)
    with pytest.raises(InputError, match=r"\['text'\], which are not there"):
        model.predict({"message": TEXTS})
    with pytest.raises(InputError, match="no rows"):
        model.predict({"text": []})


@pytest.mark.parametrize(
    "wrong",
    [{"event_model": "gauss"}, {"alpha": -1}, {"roles": {"text": "prose"}}, {"text": {"words": 1}}, {"calibrate": "x"}],
)
def test_parameters_that_no_fit_can_use_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        TableClassifier(**wrong).fit({"text": TEXTS}, LABELS)


def test_an_evaluation_counts_every_row_once_however_often_it_was_held_out() -> None:
    posterior = np.array([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    found = evaluate(posterior, posterior, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]))
    assert found.n_rows == 3
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.confusion.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert found.baseline == pytest.approx(2 / 3)
    assert found.suspect_rows.tolist() == [2]
    assert found.after.error == pytest.approx((0.1 + 0.2 + 0.6) / 3)


def test_wilsons_interval_is_the_published_one() -> None:
    # Newcombe (1998), Statistics in Medicine 17, table I: 81 of 263 and 0 of 20.
    assert wilson_interval(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson_interval(0.0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
