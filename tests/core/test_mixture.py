"""Assigning rows: labels, sets and factors shape the responsibilities and the objective."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from softcount.core.chunks import Chunks
from softcount.core.mixture import MixtureModel
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import DenseBlock
from softcount.families.columns import PseudoCounts
from softcount.inputs.labels import read_labels

SCORES = np.array([[-1.0, -2.0, -3.0], [-4.0, -1.0, -2.0], [-2.0, -2.0, -5.0], [-np.inf, -1.0, -np.inf]])


def model_of(groups: list[int], **settings: Any) -> MixtureModel:
    n_classes = max(groups) + 1
    return MixtureModel((Bernoulli(),), (PseudoCounts(np.asarray(1.0)),), np.array(groups), n_classes, **settings)


def assigned(model: MixtureModel, y: Any, weight: Any = None, **settings: Any) -> tuple[Any, float]:
    labels, _ = read_labels(y, 4, classes=range(model.n_classes), **settings)
    chunk = Chunks((DenseBlock(np.zeros((4, 1))),), labels, weight, rows_per_chunk=8)[0]
    scores = SCORES.copy()
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.array([0.2, 0.3, 0.5]))
    return scores, model.assign(scores, chunk, log_weights)


def test_rows_without_labels_share_by_their_scores() -> None:
    resp, objective = assigned(model_of([0, 1, 2]), [None] * 4)
    log_norm = logsumexp(SCORES, axis=1)
    assert_allclose(resp, np.exp(SCORES - log_norm[:, None]), rtol=1e-13)
    assert objective == pytest.approx(log_norm.sum())


def test_known_labels_take_the_row_and_its_own_score() -> None:
    resp, objective = assigned(model_of([0, 1, 2]), [2, 0, 1, 1], weight=np.array([1.0, 2.0, 0.0, 3.0]))
    assert_allclose(resp, [[0, 0, 1], [2, 0, 0], [0, 0, 0], [0, 3, 0]])
    assert objective == pytest.approx(-3.0 - 8.0 - 3.0)


def test_a_label_that_the_scores_call_impossible_is_kept() -> None:
    resp, objective = assigned(model_of([0, 1, 2]), [0, 0, 0, 0])
    assert_array_equal(resp, np.eye(3)[[0, 0, 0, 0]])
    assert objective == -np.inf


def test_a_label_that_the_scores_call_impossible_keeps_the_weight_of_its_row() -> None:
    weight = np.array([2.0, 0.5, 3.0, 4.0])
    resp, _ = assigned(model_of([0, 1, 2]), [0, 0, 0, 0], weight=weight)
    assert_array_equal(resp, weight[:, None] * np.eye(3)[[0, 0, 0, 0]])


def test_an_impossible_row_of_weight_zero_leaves_the_objective_finite_beside_given_responsibilities() -> None:
    y = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    _, objective = assigned(model_of([0, 1, 2]), y, weight=np.array([2.0, 1.0, 1.0, 0.0]))
    assert objective == pytest.approx(2.0 * (0.5 * -1.0 + 0.5 * -2.0) - 1.0 - 2.0)


def test_a_set_that_the_scores_call_impossible_is_kept() -> None:
    resp, _ = assigned(model_of([0, 1, 2]), [{0, 1}, {0, 1}, {1, 2}, {0, 2}])
    assert_allclose(resp[3], [0.2 / 0.7, 0.0, 0.5 / 0.7], rtol=1e-13)
    assert_allclose(resp[2], [0.0, 1 / (1 + np.exp(-3)), np.exp(-3) / (1 + np.exp(-3))], rtol=1e-13)
    assert_allclose(resp.sum(axis=1), 1.0)


def test_fixed_responsibilities_are_kept_and_their_objective_is_the_expected_score() -> None:
    y = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [np.nan] * 3, [0.0, 1.0, 0.0]]
    resp, objective = assigned(model_of([0, 1, 2]), y)
    assert_allclose(resp[[0, 1, 3]], [y[0], y[1], y[3]])
    assert objective == pytest.approx(-1.5 - 4.0 + logsumexp(SCORES[2]) - 1.0)


def test_factors_multiply_the_class_prior() -> None:
    y = [[0.5, 2.0, 0.0], [1.0, 1.0, 1.0], [np.nan] * 3, [0.0, 1.0, 1.0]]
    resp, objective = assigned(model_of([0, 1, 2]), y, soft_labels="prior")
    weighted = np.exp(SCORES) * np.where(np.isnan(y), 1.0, y)
    assert_allclose(resp, weighted / weighted.sum(axis=1, keepdims=True), rtol=1e-13)
    assert objective == pytest.approx(np.log(weighted.sum(axis=1)).sum())


def test_components_of_a_class_share_what_the_label_gives_the_class() -> None:
    model = model_of([0, 0, 1])
    resp, objective = assigned(model, [0, 0, 1, 0])
    assert_allclose(resp[0], [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1)), 0.0], rtol=1e-13)
    assert_allclose(resp[3], [0.0, 1.0, 0.0])
    assert objective == pytest.approx(logsumexp([-1, -2]) + logsumexp([-4, -1]) - 5.0 - 1.0)
    soft, _ = assigned(model, [[0.4, 0.6], [0.4, 0.6], [0.4, 0.6], [0.4, 0.6]])
    assert_allclose(soft[:, :2].sum(axis=1), 0.4, rtol=1e-13)
    assert_allclose(soft[:, 2], 0.6, rtol=1e-13)


def test_only_rows_without_any_label_are_weighted_as_unlabeled() -> None:
    model = model_of([0, 1, 2], unlabeled_weight=0.25)
    resp, _ = assigned(model, [None, 1, {0, 1}, None], weight=np.array([2.0, 2.0, 2.0, 1.0]))
    assert_allclose(resp.sum(axis=1), [0.5, 2.0, 2.0, 0.25])


def test_heat_softens_unlabeled_rows_alone() -> None:
    model = model_of([0, 1, 2], temperature=2.0)
    resp, objective = assigned(model, [None, 1, {0, 1}, None])
    hot = np.exp(SCORES[0] / 2.0)
    assert_allclose(resp[0], hot / hot.sum(), rtol=1e-13)
    assert_allclose(resp[2], [0.5, 0.5, 0.0], rtol=1e-13)
    expected = 2.0 * logsumexp(SCORES[0] / 2) - 1.0 + logsumexp([-2, -2]) + 2.0 * logsumexp(SCORES[3] / 2)
    assert objective == pytest.approx(expected)
    cold, _ = assigned(replace(model, temperature=1.0), [None, 1, {0, 1}, None])
    assert resp[0].max() < cold[0].max()


def test_class_weights_are_smoothed_class_by_class_and_shared_within() -> None:
    model = model_of([0, 0, 1], class_alpha=1.0)
    log_weights = model.solve_weights(np.array([1.0, 3.0, 2.0]))
    assert_allclose(np.exp(log_weights), [5 / 8 * 1 / 4, 5 / 8 * 3 / 4, 3 / 8], rtol=1e-14)
    fixed = replace(model, class_prior=np.array([0.1, 0.9]))
    assert_allclose(np.exp(fixed.solve_weights(np.array([1.0, 3.0, 2.0]))), [0.025, 0.075, 0.9], rtol=1e-14)
    empty = replace(model, class_alpha=0.0).solve_weights(np.zeros(3))
    assert_allclose(np.exp(empty), [0.25, 0.25, 0.5], rtol=1e-14)


def test_given_class_probabilities_leave_only_the_shares_within_classes_free() -> None:
    three = {"log_prob": np.log(np.full((1, 3), 0.5)), "log_not": np.log(np.full((1, 3), 0.5))}
    for class_prior, n_free in ((None, 2), (np.array([0.4, 0.6]), 1)):
        model = model_of([0, 0, 1], class_prior=class_prior)
        params = model.make_params(np.log(np.full(3, 1.0 / 3.0)), (three,))
        assert model.n_parameters(params) == 3 + n_free
