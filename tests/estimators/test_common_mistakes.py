"""Mistakes that everybody makes once: the message says what was found, and what to do."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import softcount
from softcount import (
    GLM,
    CategoricalNB,
    GaussianMixture,
    GaussianNB,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    checkpoints,
)

TEXTS = ["free money", "see you at lunch", "cash now", "on my way"]
LABELS = ["spam", "ham", "spam", "ham"]


@pytest.mark.parametrize("texts", [TEXTS, np.array(TEXTS), np.array(TEXTS, dtype=object), pd.Series(TEXTS)])
def test_texts_instead_of_counts_are_to_be_counted_not_reshaped(texts):
    with pytest.raises(ValueError, match=r"row of texts \(the first is 'free money'\).*CountVectorizer") as caught:
        MultinomialNB().fit(texts, LABELS)
    assert "reshape" not in str(caught.value)


def test_a_table_with_texts_is_sent_to_the_models_for_mixed_columns():
    with pytest.raises(ValueError, match=r"column 0 of X holds 'red'.*NaiveBayes"):
        CategoricalNB().fit([["red"], ["blue"]], ["a", "b"])


def test_the_name_of_a_column_is_no_list_of_labels_in_memory():
    table = pd.DataFrame({"weight": [1.0, 2.0], "kind": ["a", "b"]})
    with pytest.raises(ValueError, match=r"the text 'kind'.*table\[name\]"):
        NaiveBayes().fit(table, "kind")


@pytest.mark.parametrize("written", ["nan", "?", ""])
def test_a_class_that_is_named_like_a_missing_label_is_pointed_out(written):
    y = np.array(["spam", "ham", "spam", written])
    counts = np.eye(4, dtype=int)
    with pytest.warns(UserWarning, match=re.escape(f"missing_label={written!r}")):
        MultinomialNB().fit(counts, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MultinomialNB(missing_label=written, unlabeled_weight=1.0).fit(counts, y)
    assert model.classes_.tolist() == ["ham", "spam"]


def test_a_class_that_was_named_by_the_user_needs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultinomialNB(classes=["?", "spam"]).fit([[1, 0], [0, 1]], ["?", "spam"])


def test_numbers_in_messages_are_written_as_people_write_them():
    table = pd.DataFrame({"weight": [-1.0, 2.0]})
    with pytest.raises(ValueError, match=r"holds -1\.0, but a gamma column"):
        NaiveBayes(families={"weight": "gamma"}).fit(table, ["a", "b"])
    with pytest.raises(ValueError, match=r"x\[0\] is -1, but"):
        softcount.families.Poisson().fit([-1, 2])


def test_a_formula_in_the_place_of_a_family_is_recognized():
    with pytest.raises(ValueError, match=r"GLM\.from_formula\('y ~ x'"):
        GLM("y ~ x").fit([[1.0], [2.0]], [1.0, 2.0])


def test_more_components_than_rows_says_what_to_change():
    with pytest.raises(ValueError, match="fewer components"):
        GaussianMixture(9).fit(np.arange(4.0)[:, None])


def test_a_model_is_not_saved_into_a_folder_that_is_not_there(tmp_path):
    model = MultinomialNB().fit([[1, 0], [0, 1]], ["a", "b"])
    with pytest.raises(FileNotFoundError, match="there is no folder") as caught:
        model.save(tmp_path / "missing" / "model.softcount")
    assert ".part" not in str(caught.value)


def test_a_folder_is_neither_written_nor_read_as_a_model(tmp_path):
    model = MultinomialNB().fit([[1, 0], [0, 1]], ["a", "b"])
    with pytest.raises(IsADirectoryError, match=r"it is a folder. Give the name of a file, such as .*model.softcount"):
        model.save(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder, and a model is one file"):
        softcount.load(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_checkpoints_are_not_kept_in_a_file(tmp_path):
    place = tmp_path / "taken"
    place.write_text("mine")
    with pytest.raises(ValueError, match="is a file"), checkpoints(place):
        pass
    assert place.read_text() == "mine"


def test_a_misspelled_name_is_met_with_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'MultinomialNB'"):
        _ = softcount.MultinomialNb


@pytest.mark.parametrize("make", [NaiveBayes, GaussianNB, LogisticRegression, GLM])
def test_two_columns_of_one_name_are_named(make):
    table = pd.DataFrame([[1.0, 2.0], [2.0, 5.0], [4.0, 3.0]], columns=["dose", "dose"])
    with pytest.raises(ValueError, match=r"column names \['dose'\] occur more than once in X. Rename"):
        make().fit(table, [0, 1, 0])


def test_an_infinite_cell_is_shown_as_a_number_is_written():
    with pytest.raises(ValueError, match=r"row 1, column 'dose' holds inf\. Correct"):
        NaiveBayes().fit(pd.DataFrame({"dose": [1.0, np.inf, 0.5]}), [0, 1, 0])


def test_numbers_that_come_back_as_texts_are_pointed_out():
    table = pd.DataFrame({"rooms": [1, 2, 1, 2], "kind": ["flat", "house", "flat", "house"]})
    model = NaiveBayes().fit(table, [0, 1, 0, 1])
    with pytest.warns(UserWarning, match=r"'rooms' holds values such as '1', .* such as 1, of another type"):
        model.predict(table.astype({"rooms": str}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table.assign(rooms=7, kind="castle"))  # unseen, but what they might have been
        model.predict(table.assign(rooms=None))
