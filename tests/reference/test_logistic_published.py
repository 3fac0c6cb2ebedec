"""Published logistic regressions, their small tables typed in as facts."""

import json

import numpy as np
import pandas as pd
import pytest

from softcount import LogisticRegression

SOLVERS = ["newton", "irls", "lbfgs", "gradient", "newton-cg"]

# Finney (1947), Biometrika 34: volume and rate of air inspired, and whether the skin's vessels constricted. The fit is
# that of Pregibon (1981), Annals of Statistics 9, p. 710.
VOLUME = [
    3.70, 3.50, 1.25, 0.75, 0.80, 0.70, 0.60, 1.10, 0.90, 0.90, 0.80, 0.55, 0.60, 1.40, 0.75, 2.30, 3.20, 0.85,
    1.70, 1.80, 0.40, 0.95, 1.35, 1.50, 1.60, 0.60, 1.80, 0.95, 1.90, 1.60, 2.70, 2.35, 1.10, 1.10, 1.20, 0.80,
    0.95, 0.75, 1.30,
]  # fmt: skip
RATE = [
    0.825, 1.090, 2.500, 1.500, 3.200, 3.500, 0.750, 1.700, 0.750, 0.450, 0.570, 2.750, 3.000, 2.330, 3.750,
    1.640, 1.600, 1.415, 1.060, 1.800, 2.000, 1.360, 1.350, 1.360, 1.780, 1.500, 1.500, 1.900, 0.950, 0.400,
    0.750, 0.030, 1.830, 2.200, 2.000, 3.330, 1.900, 1.900, 1.625,
]  # fmt: skip
CONSTRICTED = [
    1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1,
    0, 0, 1,
]  # fmt: skip

# Bliss (1935): beetles killed out of those exposed to carbon disulphide, by log dose. The fit is that of Dobson (1990),
# An Introduction to Generalized Linear Models, section 8.3: -60.72 (5.18) and 34.27 (2.91), deviance 11.23.
DOSE = np.array([1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])
EXPOSED = np.array([59, 60, 62, 56, 63, 59, 62, 60])
KILLED = np.array([6, 13, 18, 28, 52, 53, 61, 60])


@pytest.mark.parametrize("solver", SOLVERS)
def test_vasoconstriction_has_the_published_coefficients(solver):
    X = np.log(np.column_stack([VOLUME, RATE]))
    model = LogisticRegression(C=np.inf, solver=solver).fit(X, CONSTRICTED)
    assert model.intercept_[0] == pytest.approx(-2.875, abs=5e-4)
    np.testing.assert_allclose(model.coef_[0], [5.179, 4.562], atol=5e-4)
    assert model.intercept_standard_errors_[0] == pytest.approx(1.321, abs=5e-4)
    np.testing.assert_allclose(model.standard_errors_[0], [1.865, 1.838], atol=5e-4)
    assert -2.0 * model.log_likelihood_ == pytest.approx(29.23, abs=5e-3)


def check_beetles(model):
    assert model.intercept_[0] == pytest.approx(-60.72, abs=5e-3)
    assert model.coef_[0, 0] == pytest.approx(34.27, abs=5e-3)
    assert model.intercept_standard_errors_[0] == pytest.approx(5.18, abs=5e-3)
    assert model.standard_errors_[0, 0] == pytest.approx(2.91, abs=5e-3)
    share = KILLED / EXPOSED
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = KILLED * np.log(share) + np.nan_to_num((EXPOSED - KILLED) * np.log(1.0 - share))
    assert 2.0 * (terms.sum() - model.log_likelihood_) == pytest.approx(11.23, abs=5e-3)


def test_beetle_mortality_has_the_published_coefficients_from_weighted_rows():
    X = np.tile(DOSE, 2)[:, None]
    check_beetles(LogisticRegression(C=np.inf).fit(X, np.repeat([1, 0], 8), np.r_[KILLED, EXPOSED - KILLED]))


def test_beetle_mortality_has_the_published_coefficients_from_shares():
    shares = np.column_stack([EXPOSED - KILLED, KILLED]) / EXPOSED[:, None]
    check_beetles(LogisticRegression(C=np.inf).fit(DOSE[:, None], shares, EXPOSED))


def test_low_birth_weight_has_the_coefficients_computed_with_r(shared_data):
    references = json.loads((shared_data / "glm" / "r_reference_fits.json").read_text())
    entry = next(entry for entry in references if entry["name"] == "birthwt_logit")
    table = pd.read_csv(shared_data / "glm" / "birthwt.csv")
    table["raceblack"], table["raceother"] = table["race"] == 2, table["race"] == 3
    names = list(entry["coef"])[1:]
    for solver in SOLVERS:
        model = LogisticRegression(C=np.inf, solver=solver).fit(table[names].astype(float), table["low"])
        estimates = np.concatenate([model.intercept_, model.coef_[0]])
        errors = np.concatenate([model.intercept_standard_errors_, model.standard_errors_[0]])
        np.testing.assert_allclose(estimates, list(entry["coef"].values()), rtol=1e-6)
        np.testing.assert_allclose(errors, list(entry["se"].values()), rtol=1e-5)
        assert -2.0 * model.log_likelihood_ == pytest.approx(entry["deviance"], rel=1e-9)
        assert model.aic_ == pytest.approx(entry["aic"], rel=1e-9)
