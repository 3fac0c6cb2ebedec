"""Every family as the columns of a classifier: known labels, missing labels, missing cells, weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount import Mixture, NaiveBayes
from softcount.families import FAMILIES, PseudoCounts
from tests.laws.family_cases import CASES
from tests.laws.family_tables import Table


@dataclass(frozen=True)
class Given:
    """A prior that is pseudo-counts already."""

    alpha: float

    def pseudo_counts(self, estimate, family=None):
        return PseudoCounts(np.asarray(self.alpha))


def classifier(name, **options):
    explicit = {name: Given(0.5)} if FAMILIES[name].prior_class is PseudoCounts else None
    return NaiveBayes(families=name, feature_prior=explicit, unlabeled_weight=1.0, **options)


def rows(name, missing=False):
    table = Table(CASES[name], n_rows=240, seed=4, missing=missing)
    return table.values.astype(np.float64), table.codes.astype(np.float64)


@pytest.mark.parametrize("name", FAMILIES)
def test_known_labels_are_learned(name):
    X, y = rows(name)
    model = classifier(name).fit(X, y)
    assert model.score(X, y) > 0.65
    assert np.all(np.isfinite(model.score_samples(X)))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_missing_labels_never_lower_the_objective(name, missing):
    X, y = rows(name, missing)
    y[::2] = np.nan
    model = classifier(name, max_iter=30, tol=0.0).fit(X, y)
    objective = np.array([step.objective for step in model.history_])
    assert len(objective) > 10
    assert np.all(np.diff(objective) >= -1e-9 * np.abs(objective[1:]))
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_row_of_weight_k_is_k_rows(name):
    X, y = rows(name)
    weight = np.arange(len(y)) % 3
    weighted = classifier(name).fit(X, y, sample_weight=weight)
    repeated = classifier(name).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", FAMILIES)
def test_evidence_adds_up_to_the_log_odds(name):
    X, y = rows(name, missing=True)
    y[::3] = np.nan
    model = classifier(name).fit(X, y)
    found = model.contributions(X)
    log_proba = model.predict_log_proba(X)
    total = found.baseline + np.asarray(found.values.sum(axis=1)).ravel()
    assert_allclose(total, log_proba[:, 1] - log_proba[:, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_stands_beside_another_in_a_classifier_and_in_a_mixture(name, missing):
    X, y = rows(name, missing)
    rng = np.random.default_rng(0)
    beside = rng.normal(2.0 * y, 1.0)
    if missing:
        beside[rng.random(y.size) < 0.2] = np.nan
    table = np.column_stack([X, beside])
    kinds = [name] * X.shape[1] + ["gaussian"]
    for labels in (y, np.where(np.arange(y.size) % 2, np.nan, y)):
        model = NaiveBayes(families=kinds, unlabeled_weight=1.0).fit(table, labels)
        assert model.score(table, y) > 0.65
        assert list(model.families_.values()) == kinds
        drawn, classes = model.sample(20, random_state=0)
        assert np.shape(drawn) == (20, table.shape[1])
        assert np.isfinite(model.score_samples(drawn)).all()
        assert set(np.unique(classes)) <= {0.0, 1.0}
    mixture = Mixture(2, families=kinds, n_init=1, max_iter=30, tol=0.0, random_state=0).fit(table)
    objective = np.array([step.objective for step in mixture.history_])
    assert np.all(np.diff(objective) >= -1e-9 * np.abs(objective[1:]))
    assert np.isfinite(mixture.score_samples(table)).all()
