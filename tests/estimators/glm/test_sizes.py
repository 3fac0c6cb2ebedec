"""Very large and very small numbers: the same model in other units, or a refusal that names the column."""

import numpy as np
import pytest
import scipy.sparse as sp

from softcount._errors import InputError
from softcount.estimators.glm import GLM
from tests.estimators.glm.data import rows, target


def test_extreme_but_finite_columns_are_fitted():
    x = rows()
    y = target("poisson", x)
    plain = GLM("poisson").fit(x, y)
    for unit in (1e-150, 1e-30, 1e30, 1e150):
        np.testing.assert_allclose(GLM("poisson").fit(unit * x, y).coef_ * unit, plain.coef_, rtol=1e-8)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
def test_columns_whose_squares_are_no_numbers_are_refused_by_name(layout):
    x = rows(3000)
    x[17, 1] = 1e200  # in none of the rows that a sample of them would hold
    with pytest.raises(InputError, match=r"Column 'x1' of X holds values up to 1e\+200"):
        GLM("poisson").fit(layout(x), target("poisson", x))


@pytest.mark.parametrize("family", ["gaussian", "gamma", "inverse_gaussian", "tweedie", "quasipoisson"])
def test_units_of_the_target_give_the_same_tests_or_are_refused(family):
    x = rows()
    y = target(family if family != "quasipoisson" else "poisson", x)
    plain = GLM(family, "log").fit(x, np.abs(y))
    reach = 140 if family == "gaussian" else 50
    for exponent in (-reach, -reach // 2, reach // 2, reach):
        model = GLM(family, "log").fit(x, np.abs(y) * 10.0**exponent)
        ratios = model.coef_ / model.standard_errors_
        np.testing.assert_allclose(ratios, plain.coef_ / plain.standard_errors_, rtol=1e-5)
    for exponent in (-300, -reach - 20, reach + 20, 300):
        with pytest.raises(InputError, match=r"y holds values up to .* Change the unit"):
            GLM(family, "log").fit(x, np.abs(y) * 10.0**exponent)
