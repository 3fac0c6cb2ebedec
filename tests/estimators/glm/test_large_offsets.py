"""Offsets so large that every row is certain: the information is rounding, and steps are far too long."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softcount.estimators.glm import GLM


def test_offsets_that_leave_no_information_at_the_start_are_overcome():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60).astype(float)
    offset = np.where(np.arange(60) % 2, 30.0, -30.0)
    model = GLM("binomial").fit(x, y, offset=offset)
    residual = y - model.predict(x, offset=offset)
    np.testing.assert_allclose(np.column_stack([np.ones(60), x]).T @ residual, 0.0, atol=1e-6)


def test_a_fit_that_finds_no_step_is_not_converged():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60).astype(float)
    with pytest.warns(ConvergenceWarning, match="No step raises the likelihood"):
        model = GLM("binomial").fit(x, y, offset=np.where(np.arange(60) % 2, 300.0, -300.0))
    assert not model.converged_
