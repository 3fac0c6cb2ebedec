"""Classes related to other variables: corrected for wrong assignments, weights honored, as the formulas say."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression

import softcount
from softcount import LatentClass, class_effects, class_outcomes
from softcount._errors import ConvergenceWarning

PROB = np.array([[0.8, 0.75, 0.8, 0.3, 0.2, 0.75], [0.2, 0.3, 0.2, 0.25, 0.3, 0.2], [0.75, 0.3, 0.2, 0.8, 0.75, 0.3]])
SLOPES = np.array([[0.0, 0.3], [0.2, 1.0], [-0.3, -0.8]])
LEVELS = np.array([0.0, 1.0, 3.0])


def world(n_rows, seed, prob=PROB):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_rows)
    sizes = np.exp(log_softmax(np.column_stack([np.ones(n_rows), z]) @ SLOPES.T, axis=1)).cumsum(axis=1)
    kind = np.minimum((rng.random((n_rows, 1)) > sizes).sum(axis=1), 2)
    X = pd.DataFrame((rng.random((n_rows, 6)) < prob[kind]).astype(int), columns=list("abcdef"))
    return (
        X,
        z,
        kind,
        rng.normal(LEVELS[kind], 1.0),
        np.where(rng.random(n_rows) < [0.2, 0.5, 0.9][0] + 0.3 * kind, "y", "n"),
    )


def fitted(X, kind, **options):
    """Classes numbered as the true ones."""
    known = np.where(np.arange(len(X)) < 60, kind.astype(float), np.nan)
    return LatentClass(3, random_state=0, **options).fit(X, known)


@pytest.fixture(scope="module")
def many():
    X, z, kind, level, _ = world(20_000, 1)
    return fitted(X, kind), X, z, level


@pytest.fixture(scope="module")
def few():
    X, z, kind, level, word = world(500, 2)
    weight = np.random.default_rng(3).integers(1, 4, len(X)).astype(float)
    return fitted(X, kind), X, z, level, word, weight


@pytest.mark.parametrize("assignment", ["modal", "proportional"])
def test_corrected_means_are_the_true_ones_where_assigned_classes_mislead(many, assignment):
    model, X, _, level = many
    found = class_outcomes(model, X, level, assignment=assignment)
    assert (np.abs(found.estimates[:, 0] - LEVELS) < 4.0 * found.errors[:, 0]).all()
    plain = class_outcomes(model, X, level, method="naive", assignment=assignment)
    assert (np.abs(plain.estimates[:, 0] - LEVELS)[[0, 2]] > 8.0 * plain.errors[[0, 2], 0]).all()


@pytest.mark.parametrize("method", ["ml", "bch"])
def test_corrected_effects_are_the_true_ones_where_assigned_classes_mislead(many, method):
    model, X, z, _ = many
    truth = SLOPES - SLOPES[0]
    found = class_effects(model, X, z, method=method)
    assert (np.abs(found.coefficients - truth)[1:] < 4.5 * found.errors[1:]).all()
    plain = class_effects(model, X, z, method="naive")
    assert np.abs(plain.coefficients - truth)[1:, 1].max() > 8.0 * plain.errors.max()


def test_bch_is_its_formula(few):
    model, X, _, level, _, weight = few
    resp = model.predict_proba(X)
    assigned = np.eye(3)[resp.argmax(axis=1)]
    chances = np.array([[(weight * resp[:, k] * assigned[:, s]).sum() for s in range(3)] for k in range(3)])
    chances /= chances.sum(axis=1, keepdims=True)
    share = assigned @ np.linalg.inv(chances)
    mass = weight @ share
    means = (weight * level) @ share / mass
    errors = [np.sqrt(np.sum(weight * (share[:, k] * (level - means[k]) / mass[k]) ** 2)) for k in range(3)]
    found = class_outcomes(model, X, level, sample_weight=weight, classes="known")
    assert_allclose(found.estimates[:, 0], means, rtol=1e-10)
    assert_allclose(found.errors[:, 0], errors, rtol=1e-10)
    assert found.df == 2
    assert found.p_value < 1e-10


@pytest.mark.parametrize("assignment", ["modal", "proportional"])
def test_ml_is_the_maximum_of_its_likelihood_with_the_sandwich_of_its_derivatives(few, assignment):
    model, X, z, _, _, weight = few
    design = np.column_stack([np.ones(len(X)), z])
    resp = model.predict_proba(X)
    assigned = resp if assignment == "proportional" else np.eye(3)[resp.argmax(axis=1)]
    chances = (resp * weight[:, None]).T @ assigned
    chances /= chances.sum(axis=1, keepdims=True)

    def rows(theta):
        sizes = log_softmax(np.column_stack([np.zeros(len(X)), design @ theta.reshape(2, 2).T]), axis=1)
        seen = logsumexp(sizes[:, :, None] + np.log(chances), axis=1)
        return (assigned * seen).sum(axis=1)

    found = class_effects(model, X, z, sample_weight=weight, assignment=assignment, classes="known")
    theta = found.coefficients[1:].ravel()
    best = minimize(lambda t: -(weight @ rows(t)), theta + 0.1, method="BFGS", options={"gtol": 1e-5})
    assert_allclose(theta, best.x, atol=1e-4)
    step = 1e-4 * np.eye(4)
    score = np.stack([(rows(theta + d) - rows(theta - d)) / 2e-4 for d in step], axis=1)
    total = lambda t: float(weight @ rows(t))  # noqa: E731
    hessian = np.array(
        [
            [
                (total(theta + a + b) - total(theta + a - b) - total(theta - a + b) + total(theta - a - b)) / 4e-8
                for b in step
            ]
            for a in step
        ]
    )
    bread = np.linalg.inv(-hessian)
    covariance = bread @ (score * weight[:, None]).T @ score @ bread
    assert_allclose(found.errors[1:].ravel(), np.sqrt(np.diagonal(covariance)), rtol=1e-3)


def test_standard_errors_are_those_of_all_steps_together():
    # What one more copy of a row does to the answer, by fitting everything again with a little more of it.
    rng = np.random.default_rng(4)
    kind = rng.integers(2, size=70)
    X = pd.DataFrame((rng.random((70, 5)) < np.where(kind[:, None], 0.75, 0.3)).astype(int), columns=list("abcde"))
    z, level, weight = rng.normal(kind), rng.normal(2.0 * kind), rng.integers(2, 7, 70).astype(float)
    level[:5] = np.nan
    first = LatentClass(2, random_state=0, tol=1e-13, order=None).fit(X, sample_weight=weight)
    questions = {
        "mean": lambda m, w: class_outcomes(m, X, level, sample_weight=w),
        "ml": lambda m, w: class_effects(m, X, z, sample_weight=w),
        "bch": lambda m, w: class_effects(m, X, z, sample_weight=w, method="bch"),
    }

    def answers(w):
        again = LatentClass(2, init=first, tol=1e-15, max_iter=20_000, order=None).fit(X, sample_weight=w)
        found = {name: question(again, w) for name, question in questions.items()}
        return {n: (f.estimates if n == "mean" else f.coefficients[1:]).ravel() for n, f in found.items()}

    moves = {name: [] for name in questions}
    for row in np.eye(70) * 1e-3:
        up, down = answers(weight + row), answers(weight - row)
        for name, listed in moves.items():
            listed.append((up[name] - down[name]) / 2e-3)
    for name, question in questions.items():
        found = question(first, weight)
        errors = np.sqrt(weight @ np.square(moves[name]))
        assert_allclose((found.errors if name == "mean" else found.errors[1:]).ravel(), errors, rtol=5e-3)
        known = class_outcomes if name == "mean" else class_effects
        less = known(
            first, X, level if name == "mean" else z, sample_weight=weight, classes="known",
            **({} if name == "mean" else {"method": name}),
        )  # fmt: skip
        assert np.abs(less.errors / np.where(found.errors > 0, found.errors, 1.0) - 1.0).max() > 0.05


def test_a_mixture_without_standard_errors_of_its_own_is_taken_as_known_and_that_is_said(few):
    level, word = few[3], few[4]
    X = np.column_stack([level, np.random.default_rng(0).normal(size=500)])
    model = softcount.GaussianMixture(2, random_state=0).fit(X)
    found, known = (class_outcomes(model, X, word, classes=classes) for classes in ("estimated", "known"))
    np.testing.assert_array_equal(found.errors, known.errors)
    assert "take the mixture as known" in str(found)
    assert known.note == ""


def test_an_outcome_that_is_the_same_everywhere_differs_nowhere(few):
    model, X = few[:2]
    found = class_outcomes(model, X, np.full(len(X), 0.1))
    assert found.df == 0
    assert np.isnan(found.p_value)


@pytest.mark.parametrize("method", ["ml", "bch", "naive"])
def test_a_weight_of_k_is_k_rows_and_a_weight_of_zero_is_none(few, method):
    model, X, z, level, word, _ = few
    weight = np.random.default_rng(5).integers(0, 4, len(X))
    rows = np.arange(len(X)).repeat(weight)
    one = class_effects(model, X, z, sample_weight=weight, method=method)
    other = class_effects(model, X.iloc[rows], z[rows], method=method)
    assert_allclose(one.coefficients, other.coefficients, atol=1e-7)
    assert_allclose(one.errors, other.errors, rtol=1e-6)
    assert one.n_rows == other.n_rows
    if method == "ml":
        return
    for outcome in (level, word):
        first = class_outcomes(model, X, outcome, sample_weight=weight, method=method)
        second = class_outcomes(model, X.iloc[rows], np.asarray(outcome)[rows], method=method)
        assert_allclose(first.estimates, second.estimates, rtol=1e-9)
        assert_allclose(first.errors, second.errors, rtol=1e-9)
        assert first.statistic == pytest.approx(second.statistic, rel=1e-7)
    survey = class_outcomes(model, X, level, sample_weight=2.0 * weight, method=method, survey=True)
    half = class_outcomes(model, X, level, sample_weight=weight, method=method, survey=True)
    assert_allclose(survey.errors, half.errors, rtol=1e-10)


def test_a_test_of_equal_means_does_not_know_where_zero_is(few):
    model, X, _, level, _, weight = few
    here, there = (class_outcomes(model, X, level + shift, sample_weight=weight) for shift in (0.0, 1000.0))
    assert there.statistic == pytest.approx(here.statistic, rel=1e-6)
    contrast = here.estimates[1:, 0] - here.estimates[0, 0]
    assert_allclose(there.estimates[1:, 0] - there.estimates[0, 0], contrast, rtol=1e-8)


@pytest.mark.parametrize("method", ["ml", "bch", "naive"])
def test_the_size_of_survey_weights_says_nothing_about_effects(few, method):
    model, X, z, _, _, weight = few
    one, other = (
        class_effects(model, X, z, sample_weight=scale * weight, method=method, survey=True) for scale in (1.0, 3.0)
    )
    assert_allclose(one.errors, other.errors, rtol=1e-6)
    plain, even = (class_effects(model, X, z, method=method, survey=survey) for survey in (False, True))
    assert_allclose(plain.errors, even.errors, rtol=1e-12)


def test_classes_that_are_certain_need_no_correction():
    X, z, kind, level, word = world(400, 7, np.where(PROB > 0.5, 0.9999, 0.0001))
    model = fitted(X, kind)
    assert (model.predict_proba(X).max(axis=1) > 0.999).all()
    means = [level[kind == k].mean() for k in range(3)]
    assert_allclose(class_outcomes(model, X, level).estimates[:, 0], means, atol=1e-3)
    shares = [(word[kind == k] == "y").mean() for k in range(3)]
    assert_allclose(class_outcomes(model, X, word).estimates[:, 1], shares, atol=1e-3)
    rival = LogisticRegression(C=np.inf, tol=1e-10).fit(z[:, None], kind)
    coef = np.column_stack([rival.intercept_, rival.coef_])
    for method in ("ml", "bch", "naive"):
        assert_allclose(class_effects(model, X, z, method=method).coefficients, coef - coef[0], atol=2e-3)


def test_stepmix_gives_the_same_numbers(few):
    stepmix = pytest.importorskip("stepmix.stepmix")
    X, z, kind, level, _ = world(600, 8, np.where(PROB > 0.5, 0.9, 0.1))
    model = fitted(X, kind, tol=1e-13)
    options = {"n_components": 3, "n_steps": 3, "measurement": "binary", "assignment": "modal", "random_state": 0}
    options |= {"abs_tol": 1e-13, "rel_tol": 1e-13, "max_iter": 5000, "n_init": 2, "progress_bar": 0}
    theirs = stepmix.StepMix(**options, structural="gaussian_unit", correction="BCH").fit(X, level[:, None])
    free = LatentClass(3, random_state=0, tol=1e-13).fit(X)
    ours = class_outcomes(free, X, level).estimates[:, 0]
    assert_allclose(np.sort(ours), np.sort(theirs.get_parameters()["structural"]["means"][:, 0]), atol=2e-4)
    theirs = stepmix.StepMix(
        **options,
        structural="covariate",
        correction="ML",
        structural_params={"method": "newton-raphson", "max_iter": 500},
    ).fit(X, z[:, None])
    slopes = theirs.get_parameters()["structural"]["beta"][:, 1]
    ours = class_effects(free, X, z).coefficients[:, 1]
    assert_allclose(np.sort(ours) - ours.min(), np.sort(slopes) - slopes.min(), atol=2e-3)
    assert model.n_parameters_ == free.n_parameters_


def test_outcomes_of_every_kind_are_read_and_missing_ones_left_out_and_counted(few):
    model, X, _, level, word, _ = few
    holes = pd.Series(np.where(np.arange(len(X)) < 20, np.nan, level), name="income")
    found = class_outcomes(model, X, holes)
    assert (found.name, found.values, found.n_missing, found.n_rows) == ("income", None, 20.0, 480.0)
    assert "20 rows where income is missing" in str(found)
    words = class_outcomes(model, X, word)
    assert words.values == ("n", "y")
    assert_allclose(words.estimates.sum(axis=1), 1.0)
    flags = class_outcomes(model, X, word == "y")
    assert_allclose(flags.estimates, words.estimates)
    assert flags.df == words.df == 2
    frame = words.frame()
    assert frame.columns.tolist() == ["component", "value", "estimate", "standard_error", "lower", "upper"]
    assert len(frame) == 6
    gaussian = softcount.GaussianMixture(2, random_state=0).fit(level[:, None])
    assert class_outcomes(gaussian, level[:, None], word).estimates.shape == (2, 2)


def test_covariates_of_every_kind_are_read(few):
    model, X, z, _, word, _ = few
    found = class_effects(model, X, pd.DataFrame({"age": z, "town": word}))
    assert found.names == ["(intercept)", "age", "town=y"]
    assert len(found.frame()) == 6
    assert "age: no effect on any component" in str(found)
    assert [df for _, df, _ in found.tests] == [2, 2, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: class_outcomes(m, X, np.ones(3)), "3 rows, but X has 500"),
        (lambda m, X: class_outcomes(m, X, np.full(500, np.nan)), "missing in every row"),
        (lambda m, X: class_outcomes(m, X, np.ones((500, 2))), "one variable at a time"),
        (lambda m, X: class_outcomes(m, X, np.ones(500), method="ml"), "'bch' or 'naive'"),
        (lambda m, X: class_outcomes(m, X, np.ones(500), assignment="soft"), "'proportional'"),
        (lambda m, X: class_effects(m, X, np.ones(500), method="MLE"), "choose one of 'bch', 'ml'"),
        (lambda m, X: class_effects(m, X, np.where(np.arange(500) < 2, np.nan, 1.0)), "missing in 2 rows"),
        (lambda m, X: class_effects(m, X, m.predict(X) == 1, method="naive"), "without fail"),
        (lambda m, X: class_effects(LatentClass(1).fit(X), X, np.ones(500)), "one component"),
        (lambda m, X: class_outcomes(m, X, np.ones(500)).frame(level=95), "between 0 and 1"),
        (lambda m, X: class_outcomes(m, X, np.ones(500), classes="unknown"), "'estimated' or as 'known'"),
        (lambda m, X: class_outcomes(m, X, np.full(500, np.inf)), "Row 0 of outcome is infinite"),
        (lambda m, X: class_effects(m, X, np.full(500, np.inf)), "'x0' is infinite"),
        (lambda m, X: class_effects(m, X, np.ones(500)), "'x0' say nothing that the intercept"),
    ],
)
def test_what_cannot_be_related_is_said(few, call, message):
    model, X = few[:2]
    with pytest.raises(ValueError, match=message):
        call(model, X)


def test_components_that_cannot_be_told_apart_are_refused():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 3)) < 0.5).astype(int)
    model = LatentClass(2, max_iter=0, n_init=1, init=np.full((300, 2), 0.5) + rng.normal(0, 1e-4, (300, 1)) * [1, -1])
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    with pytest.raises(ValueError, match=r"overlap so much|No row is assigned"):
        class_outcomes(model, X, rng.normal(size=300))
