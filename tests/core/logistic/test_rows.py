"""The maths of single rows, against 60-digit arithmetic."""

import mpmath
import numpy as np
import pytest

from softcount.core.logistic.rows import (
    binary_probability,
    binary_rows,
    labeled_rows,
    softmax,
    softmax_rows,
)

PREDICTORS = [-745.0, -700.0, -40.0, -1e-9, 0.0, 0.3, 17.0, 36.7, 700.0]


def exact_sigmoid(eta):
    with mpmath.workdps(60):
        return mpmath.mpf(1) / (1 + mpmath.exp(-mpmath.mpf(eta)))


@pytest.mark.parametrize("eta", [v for v in PREDICTORS if abs(v) <= 700.0])
def test_both_probabilities_keep_their_digits_in_the_tails(eta):
    second, first = binary_probability(np.array([eta]))
    assert second[0] == pytest.approx(float(exact_sigmoid(eta)), rel=1e-15)
    assert first[0] == pytest.approx(float(exact_sigmoid(-eta)), rel=1e-15)


@pytest.mark.parametrize("eta", PREDICTORS)
@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize("function", [binary_rows, labeled_rows])
def test_likelihood_and_residual_of_a_label_keep_their_digits_in_the_tails(function, eta, target):
    given = 2.0 * np.array([target]) - 1.0 if function is labeled_rows else np.array([target])
    values = function(np.array([[eta]]), given, None)
    with mpmath.workdps(60):
        margin = mpmath.mpf(eta if target else -eta)
        expected = float(-mpmath.log1p(mpmath.exp(-margin)))
        residual = float(exact_sigmoid(-margin) * (1 if target else -1))
    # Below the smallest normal number a double has fewer digits.
    rel = 1e-15 if abs(eta) <= 700.0 else 0.1
    assert values.log_likelihood == pytest.approx(expected, rel=rel, abs=0.0)
    assert values.residual[0, 0] == pytest.approx(residual, rel=rel, abs=0.0)


@pytest.mark.parametrize("eta", [-700.0, -3.0, 0.0, 2.0, 700.0])
@pytest.mark.parametrize("target", [0.25, 0.5, 0.999])
def test_soft_targets_mix_the_two_labels(eta, target):
    values = binary_rows(np.array([[eta]]), np.array([target]), None)
    with mpmath.workdps(60):
        y, p, q = mpmath.mpf(target), exact_sigmoid(eta), exact_sigmoid(-eta)
        expected = float(y * mpmath.log(p) + (1 - y) * mpmath.log(q))
        residual = float(y - p)
    assert values.log_likelihood == pytest.approx(expected, rel=1e-14)
    assert values.residual[0, 0] == pytest.approx(residual, rel=1e-14)


@pytest.mark.parametrize("column", [[0.0, 700.0, -5.0], [-700.0, 0.0, 700.0], [1.0, 1.0, 1.0], [30.0, -10.0, 29.0]])
@pytest.mark.parametrize("label", [0, 1, 2])
def test_softmax_keeps_its_digits_in_the_tails(column, label):
    values = softmax_rows(np.array(column)[:, None].copy(), np.array([label], dtype=np.int32), None)
    with mpmath.workdps(400):
        powers = [mpmath.exp(mpmath.mpf(v)) for v in column]
        shares = [power / sum(powers) for power in powers]
        expected = float(mpmath.log(shares[label]))
        residual = [float((1 if k == label else 0) - share) for k, share in enumerate(shares)]
    assert values.log_likelihood == pytest.approx(expected, rel=1e-14, abs=0.0)
    np.testing.assert_allclose(values.residual[:, 0], residual, rtol=1e-14, atol=1e-320)


def test_softmax_of_two_classes_is_the_logistic_function():
    eta = np.linspace(-50.0, 50.0, 41)
    second, first = binary_probability(eta)
    np.testing.assert_allclose(softmax(np.stack([0.0 * eta, eta])), np.stack([first, second]), rtol=1e-13)


def test_soft_softmax_targets_equal_labels_where_they_are_certain():
    rng = np.random.default_rng(0)
    eta, codes, weight = rng.normal(size=(4, 30)), rng.integers(0, 4, 30).astype(np.int32), rng.random(30)
    hard = softmax_rows(eta.copy(), codes, weight)
    soft = softmax_rows(eta.copy(), np.eye(4)[codes], weight)
    assert hard.log_likelihood == pytest.approx(soft.log_likelihood, rel=1e-14)
    np.testing.assert_allclose(hard.residual, soft.residual, atol=1e-15)
