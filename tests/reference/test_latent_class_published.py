"""Latent class analysis ends at the values that the manual and man pages of poLCA print."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from softcount import CategoricalMixture, LatentClass
from tests.reference.published_tables import CARCINOMA, CHEATING, all_rows, answers_and_counts

# Rows, classes; log-likelihood, parameters, AIC, BIC, G2, X2, class sizes. The printed X2 of carcinoma with four
# classes (10.085) comes from a run that stopped a little early: at the maximum it is 10.0843.
PUBLISHED = [
    (CARCINOMA, 2, -317.2568, 15, 664.5137, 706.0739, 62.3654, 92.6481, [0.5012, 0.4988]),
    (CARCINOMA, 3, -293.7050, 23, 633.4100, 697.1357, 15.2617, 20.5034, [0.4447, 0.3736, 0.1817]),
    (CARCINOMA, 4, -289.2858, 31, 640.5717, 726.4629, 6.4235, 10.0843, [0.375, 0.343, 0.188, 0.094]),
    (CHEATING, 2, -440.0271, 9, 898.0542, 931.9409, 7.7642, 8.3234, [0.8394, 0.1606]),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{sum(row[0].values())}-rows-{row[1]}-classes")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_small_tables_come_out_to_the_printed_digits(row, seed):
    table, n_classes, log_likelihood, n_parameters, aic, bic, g2, x2, sizes = row
    model = LatentClass(n_classes, random_state=seed).fit(all_rows(table))
    assert round(model.log_likelihood_, 4) == log_likelihood
    assert model.n_parameters_ == n_parameters
    criteria = model.criteria()
    assert_allclose([criteria["aic"], criteria["bic"]], [aic, bic], atol=6e-5)
    assert_allclose(model.goodness_.g2, g2, atol=1e-4)
    # The fourth class holds 11 rows, about which the likelihood says little: where EM stops by default, X2 may be
    # 0.0006 away from where it is with tol=1e-12, which is what is printed.
    assert_allclose(model.goodness_.x2, x2, atol=1e-3)
    assert_allclose(model.class_sizes_, sizes, atol=6e-4)
    assert model.n_best_starts_ >= 2
    assert model.converged_


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{sum(row[0].values())}-rows-{row[1]}-classes")
def test_counts_as_weights_give_the_same_numbers_as_rows_one_by_one(row):
    table, n_classes = row[:2]
    answers, count = answers_and_counts(table)
    rows = LatentClass(n_classes, random_state=0).fit(all_rows(table))
    weighted = LatentClass(n_classes, random_state=0).fit(answers, sample_weight=count)
    assert weighted.log_likelihood_ == pytest.approx(rows.log_likelihood_, rel=1e-12)
    assert_allclose(weighted.class_sizes_, rows.class_sizes_, rtol=1e-9)
    assert_allclose(weighted.goodness_.g2, rows.goodness_.g2, rtol=1e-9)
    assert_allclose(weighted.classification_.table, rows.classification_.table, rtol=1e-9, atol=1e-9)


def test_the_local_maximum_printed_for_carcinoma_with_four_classes_is_left_behind():
    # The manual's text prints AIC 641.6 and BIC 727.5, which belong to a lower maximum.
    model = LatentClass(4, random_state=5).fit(all_rows(CARCINOMA))
    assert model.criteria()["aic"] < 640.58
    assert model.criteria()["bic"] < 726.47


def test_codes_from_zero_give_the_same_maximum_by_the_categorical_mixture():
    model = CategoricalMixture(3, alpha=0.0, random_state=0).fit(all_rows(CARCINOMA) - 1)
    assert round(model.log_likelihood_, 4) == -293.7050
    assert model.n_parameters_ == 23


ELECTION = {1: (-18647.31, 36, None), 2: (-17344.92, 73, None), 3: (-16714.66, 110, [0.419, 0.320, 0.261])}


@pytest.mark.parametrize("n_classes", ELECTION)
def test_the_election_survey_comes_out_to_the_printed_digits(n_classes, shared_data: Path):
    path = shared_data / "lca" / "poLCA_election.csv"
    if not path.exists():
        pytest.skip(f"no election survey: {path} is absent")
    answers = pd.read_csv(path).iloc[:, :12].dropna()
    assert len(answers) == 1311
    log_likelihood, n_parameters, sizes = ELECTION[n_classes]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LatentClass(n_classes, random_state=0).fit(answers)
    assert round(model.log_likelihood_, 2) == log_likelihood
    assert model.n_parameters_ == n_parameters
    if sizes is not None:
        assert_allclose(model.class_sizes_, sizes, atol=6e-4)
    assert model.goodness_.p_g2 is None
    assert "too sparse" in " ".join(model.goodness_.reasons)


# Covariates, rows; log-likelihood, AIC, BIC, sizes.
REGRESSIONS = [
    ("cheating", ["GPA"], 315, (-429.6384, 879.2768, 916.8025), [0.8219, 0.1781]),
    ("election", ["PARTY"], 1300, (-16222.32, 32668.65, 33247.70), [0.386, 0.341, 0.274]),
    ("election", ["PARTY", "AGE", "PARTY:AGE"], 1294, (-16135.39, None, None), None),
]


def regression_rows(shared_data: Path, name: str, covariates: list[str]) -> pd.DataFrame:
    path = shared_data / "lca" / f"poLCA_{name}.csv"
    if not path.exists():
        pytest.skip(f"no {name} data: {path} is absent")
    table, n_items = pd.read_csv(path), 4 if name == "cheating" else 12
    if len(covariates) > 1:
        table["PARTY:AGE"] = table["PARTY"] * table["AGE"]
    return table[[*table.columns[:n_items], *covariates]].dropna()


@pytest.mark.parametrize("row", REGRESSIONS, ids=lambda row: f"{row[0]}-{len(row[1])}-covariates")
def test_latent_class_regressions_come_out_to_the_printed_digits(row, shared_data: Path):
    name, covariates, n_rows, printed, sizes = row
    table = regression_rows(shared_data, name, covariates)
    assert len(table) == n_rows
    model = LatentClass(2 if sizes is not None and len(sizes) == 2 else 3, covariates=covariates, random_state=0)
    model.fit(table)
    criteria = model.criteria()
    for value, number in zip((model.log_likelihood_, criteria["aic"], criteria["bic"]), printed, strict=True):
        assert number is None or round(value, 4 if name == "cheating" else 2) == number
    if sizes is not None:
        assert_allclose(model.class_sizes_, sizes, atol=6e-4)


def test_coefficients_of_party_and_their_standard_errors_are_the_printed_ones(shared_data: Path):
    table = regression_rows(shared_data, "election", ["PARTY"])
    model = LatentClass(3, covariates="PARTY", random_state=0).fit(table)
    assert_allclose(model.class_coefficients_[1:], [[-3.81813, 0.79327], [1.16155, -0.57436]], atol=4e-5)
    errors = model.standard_errors(table, covariance="scores")
    found = np.array([error.values[1:] for row, error in errors.rows if row.quantity == "log-odds"]).T
    assert_allclose(found, [[0.31109, 0.06232], [0.17989, 0.06401]], atol=1.5e-5)


def test_rows_with_missing_answers_raise_no_likelihood_of_the_complete_ones(shared_data: Path):
    path = shared_data / "lca" / "poLCA_election.csv"
    if not path.exists():
        pytest.skip(f"no election survey: {path} is absent")
    answers = pd.read_csv(path).iloc[:, :12]
    model = LatentClass(3, random_state=0).fit(answers)
    complete = LatentClass(3, random_state=0).fit(answers.dropna())
    assert model.score(answers.dropna()) * 1311 < complete.log_likelihood_
    assert np.abs(model.class_sizes_ - complete.class_sizes_).max() < 0.05
