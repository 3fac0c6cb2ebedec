"""Names given to the columns of tables that have none, as sparse counts of words."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import softcount
from softcount._errors import InputError

WORDS = ["prize", "free", "lunch"]
COUNTS = csr_array(np.array([[2, 1, 0], [1, 2, 0], [0, 0, 3], [0, 1, 2]]))
LABELS = ["spam", "spam", "ham", "ham"]


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB", "PoissonNB", "NaiveBayes"])
def test_top_features_have_the_names_that_are_given(name):
    X = COUNTS.toarray().astype(float) if name == "NaiveBayes" else COUNTS
    model = getattr(softcount, name)().fit(X, LABELS)
    plain, named = model.top_features(3), model.top_features(3, feature_names=np.array(WORDS))
    assert model.top_features(1, feature_names=WORDS)["ham"][0][0] == "lunch"
    for label, features in plain.items():
        assert [(WORDS[int(feature[1:])], score) for feature, score in features] == named[label]


def test_evidence_has_the_names_that_are_given_and_prints_in_a_line():
    evidence = softcount.MultinomialNB().fit(COUNTS, LABELS).contributions(COUNTS, feature_names=WORDS)
    assert evidence.top(2, 1)[0][0] == "lunch"
    assert repr(evidence) == "Contributions('spam' against 'ham': 4 rows, 3 features)"


def test_a_wrong_number_of_names_is_refused():
    model = softcount.MultinomialNB().fit(COUNTS, LABELS)
    for call in (model.top_features, lambda feature_names: model.contributions(COUNTS, feature_names=feature_names)):
        with pytest.raises(InputError, match="feature_names has 2 names, but the model has 3 features"):
            call(feature_names=WORDS[:2])
