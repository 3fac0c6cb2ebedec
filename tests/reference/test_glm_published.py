"""Generalized linear models against published tables, and against fits computed with R.

Sources of the numbers typed in here: McCullagh and Nelder, Generalized Linear Models (2nd edition, 1989), pp.
300-302 (clotting times); Dobson, An Introduction to Generalized Linear Models (1990), p. 93 (counts of a
trial) and chapter 7 (Bliss's beetles); the output of R's example(glm).
"""

import json

import numpy as np
import pytest

from softcount.core.glm.families import resolve_family
from softcount.core.glm.inference import RowWeights, likelihood
from softcount.estimators.glm import GLM

pd = pytest.importorskip("pandas")

DOSE = np.array([1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])
BEETLES = np.array([59, 60, 62, 56, 63, 59, 62, 60])
KILLED = np.array([6, 13, 18, 28, 52, 53, 61, 60])


def all_coefficients(model):
    return np.r_[model.intercept_, model.coef_]


def all_errors(model):
    return np.r_[model.intercept_standard_error_, model.standard_errors_]


@pytest.mark.parametrize(
    ("times", "coefficients", "errors", "dispersion"),
    [
        (
            [118, 58, 42, 35, 27, 25, 21, 19, 18],
            [-0.01655438, 0.01534311],
            [0.00092754, 0.00041496],
            0.002446059,
        ),
        (
            [69, 35, 26, 21, 18, 16, 13, 12, 12],
            [-0.02390848, 0.02359922],
            [0.00132645, 0.00057678],
            0.001813354,
        ),
    ],
    ids=["lot 1", "lot 2"],
)
def test_clotting_times_of_mccullagh_and_nelder(times, coefficients, errors, dispersion):
    concentration = np.array([5, 10, 15, 20, 30, 40, 60, 80, 100])
    model = GLM("gamma").fit(np.log(concentration)[:, None], times)
    np.testing.assert_allclose(all_coefficients(model), coefficients, atol=2e-8)
    np.testing.assert_allclose(all_errors(model), errors, rtol=3e-5)
    # R's iterations stop a little earlier, which shows in the fourth digit of a small dispersion.
    assert model.dispersion_ == pytest.approx(dispersion, rel=1e-4)


def test_counts_of_dobsons_trial():
    frame = pd.DataFrame(
        {
            "counts": [18, 17, 15, 20, 10, 20, 25, 13, 12],
            "outcome": ["1", "2", "3"] * 3,
            "treatment": ["1"] * 3 + ["2"] * 3 + ["3"] * 3,
        }
    )
    model = GLM.from_formula("counts ~ outcome + treatment", frame, family="poisson")
    np.testing.assert_allclose(all_coefficients(model), [3.045, -0.4543, -0.2930, 0.0, 0.0], atol=5e-4)
    np.testing.assert_allclose(all_errors(model), [0.1709, 0.2022, 0.1927, 0.2, 0.2], atol=5e-5)
    assert model.null_deviance_ == pytest.approx(10.5814, abs=5e-5)
    assert model.deviance_ == pytest.approx(5.1291, abs=5e-5)
    assert (model.df_residual_, round(model.aic_, 2)) == (4.0, 56.76)


@pytest.mark.parametrize(
    ("link", "coefficients", "errors", "deviance"),
    [
        ("logit", [-60.72, 34.27], [5.18, 2.91], 11.23),
        ("probit", [-34.94, 19.73], [2.65, 1.49], 10.12),
        ("cloglog", [-39.57, 22.04], [3.24, 1.80], 3.45),
    ],
)
def test_blisss_beetles_under_three_links(link, coefficients, errors, deviance):
    model = GLM("binomial", link).fit(DOSE[:, None], np.column_stack([KILLED, BEETLES - KILLED]))
    np.testing.assert_allclose(all_coefficients(model), coefficients, atol=6e-3)
    np.testing.assert_allclose(all_errors(model), errors, atol=6e-3)
    assert model.deviance_ == pytest.approx(deviance, abs=6e-3)


FORMULAS = {
    "esoph_binomial_linear_scores": "ncases + ncontrols ~ C(agegp, contr.poly) + tobgp_score + alcgp_score",
    "esoph_binomial_treatment": "ncases + ncontrols ~ C(agegp) + C(tobgp) + C(alcgp)",
    "warpbreaks_poisson_inter": "breaks ~ wool * tension",
    "warpbreaks_poisson_main": "breaks ~ wool + tension",
    "warpbreaks_quasipoisson_main": "breaks ~ wool + tension",
    "ships_poisson": "incidents ~ type + C(year) + C(period)",
    "ships_quasipoisson": "incidents ~ type + C(year) + C(period)",
    "birthwt_logit": "low ~ age + lwt + C(race) + smoke + ptl + ht + ui + ftv",
    "birthwt_probit": "low ~ age + lwt + C(race) + smoke + ptl + ht + ui + ftv",
    "birthwt_cloglog": "low ~ age + lwt + C(race) + smoke + ptl + ht + ui + ftv",
    "clotting_lot1_gamma": "lot1 ~ np.log(u)",
    "clotting_lot2_gamma": "lot2 ~ np.log(u)",
    "insurance_poisson_offset": "Claims ~ C(District) + C(Group, contr.poly) + C(Age, contr.poly)",
}
FAMILY_NAMES = {"Gamma": "gamma"}


def read_frame(path):
    frame = pd.read_csv(path)
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            # R's factors keep the order of appearance of these files; formulaic would sort.
            levels = list(dict.fromkeys(frame[column]))
            if path.stem == "warpbreaks" and column == "tension":
                levels = ["L", "M", "H"]
            if path.stem == "Insurance" and column == "Group":
                levels = ["<1l", "1-1.5l", "1.5-2l", ">2l"]
            if path.stem == "Insurance" and column == "Age":
                levels = ["<25", "25-29", "30-35", ">35"]
            frame[column] = pd.Categorical(frame[column], levels)
    if path.stem == "esoph":
        frame["tobgp_score"] = frame["tobgp"].cat.codes + 1.0
        frame["alcgp_score"] = frame["alcgp"].cat.codes + 1.0
    return frame[frame["service"] > 0] if path.stem == "ships" else frame


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_fits_computed_with_r(name, shared_data):
    folder = shared_data / "glm"
    if not (folder / "r_reference_fits.json").is_file():
        pytest.skip(f"no fits computed with R: {folder}/r_reference_fits.json is absent")
    expected = next(fit for fit in json.loads((folder / "r_reference_fits.json").read_text()) if fit["name"] == name)
    frame = read_frame(folder / expected["data"])
    exposure = {"ships.csv": "service", "Insurance.csv": "Holders"}.get(expected["data"])
    family = FAMILY_NAMES.get(expected["family"], expected["family"])
    model = GLM.from_formula(FORMULAS[name], frame, family=family, link=expected["link"], exposure=exposure, tol=1e-13)
    coefficients, errors = np.array(list(expected["coef"].values())), np.array(list(expected["se"].values()))
    # R stops at a relative change of 1e-8 in the deviance, so its coefficients are that far from the maximum.
    assert np.max(np.abs(all_coefficients(model) - coefficients) / errors) < 1e-4
    np.testing.assert_allclose(all_errors(model), errors, rtol=1e-4)
    assert model.deviance_ == pytest.approx(expected["deviance"], rel=1e-7)
    assert model.null_deviance_ == pytest.approx(expected["null_deviance"], rel=1e-9)
    assert model.df_residual_ == expected["df_residual"]
    assert model.dispersion_ == pytest.approx(expected["dispersion"], rel=1e-4)
    if family == "gamma":
        # R states the likelihood at the mean deviance, softcount at the maximum-likelihood dispersion.
        target = np.asarray(frame[name.split("_")[1]], dtype=float)
        _, at_mean_deviance = likelihood(
            resolve_family("gamma"), target, RowWeights(), model.deviance_, dispersion=model.deviance_ / target.size
        )
        assert at_mean_deviance == pytest.approx(expected["loglik"], rel=1e-6)
        assert model.log_likelihood_ > at_mean_deviance
    elif expected["loglik"] is not None and not family.startswith("quasi"):
        assert model.log_likelihood_ == pytest.approx(expected["loglik"], rel=1e-8)
        assert model.aic_ == pytest.approx(expected["aic"], rel=1e-8)
    else:
        assert np.isnan(model.log_likelihood_)
