"""Intervals of new observations where no formula gives them."""

import numpy as np
import pytest
from scipy import stats

from softcount import GLM


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_gaussian_observations_around_a_curve_lie_as_far_below_it_as_above(level):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, (4000, 1))
    y = np.exp(0.5 + x[:, 0]) + rng.normal(0.0, 3.0, 4000)
    model = GLM("gaussian", "log").fit(x, y)
    found = model.predict_interval(x[:20], level=level, kind="observation")
    # With so many rows the curve itself is known: what is left is the spread around it.
    mean, spread = model.predict(x[:20]), np.sqrt(model.dispersion_)
    for side, probability in enumerate((0.5 - 0.5 * level, 0.5 + 0.5 * level)):
        np.testing.assert_allclose(found[:, side], mean + stats.norm.ppf(probability) * spread, atol=0.02 * spread)
