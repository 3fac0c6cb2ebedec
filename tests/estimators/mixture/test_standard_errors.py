"""Standard errors are those of the log-likelihood's curvature, by an independent numerical derivative."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import logsumexp

from softcount import BernoulliMixture, CategoricalMixture, GaussianMixture, LatentClass, Mixture, PoissonMixture
from tests.reference.published_tables import CARCINOMA, CHEATING, all_rows, answers_and_counts

TIGHT = {"tol": 1e-14, "max_iter": 20000, "random_state": 0}


def numerical_covariance(log_likelihood, theta, step=2e-4):
    """Inverse of the negative second derivative, by central differences."""
    n = theta.size
    hessian = np.empty((n, n))
    moves = np.eye(n) * step
    for i in range(n):
        for j in range(i, n):
            corners = [a * b * log_likelihood(theta + a * moves[i] + b * moves[j]) for a in (1, -1) for b in (1, -1)]
            hessian[i, j] = hessian[j, i] = sum(corners) / (4.0 * step**2)
    return np.linalg.inv(-hessian)


def binary_log_density(X, prob):
    """(n_rows, n_classes); a hole says nothing."""
    x = X[:, :, None]
    with np.errstate(invalid="ignore"):
        cells = np.where(x == 1, np.log(prob), np.log1p(-prob))
    return np.where(np.isnan(x), 0.0, cells).sum(axis=1)


def binary_rows(n_rows=400, seed=0, holes=0.1):
    rng = np.random.default_rng(seed)
    z = (rng.random(n_rows) < 0.4).astype(int)
    X = (rng.random((n_rows, 5)) < np.array([[0.8, 0.7, 0.9, 0.3, 0.75], [0.2, 0.35, 0.3, 0.6, 0.2]])[z]).astype(float)
    X[rng.random(X.shape) < holes] = np.nan
    return X, z, rng.integers(1, 4, n_rows).astype(float)


def unpack(theta, n_items):
    weights = np.exp(theta[0]) / (1.0 + np.exp(theta[0]))
    prob = 1.0 / (1.0 + np.exp(-theta[1:].reshape(n_items, 2)))
    return np.array([weights, 1.0 - weights]), prob


def packed(weights, prob):
    return np.concatenate([[np.log(weights[0] / weights[1])], np.log(prob / (1.0 - prob)).ravel()])


@pytest.mark.parametrize(("alpha", "class_alpha"), [(0.0, 0.0), (0.5, 0.0), (0.5, 20.0)])
@pytest.mark.parametrize("labels", ["none", "some", "probabilities"])
def test_yes_and_no_with_weights_holes_and_labels(labels, alpha, class_alpha):
    X, z, w = binary_rows()
    y, known, given = None, np.zeros(len(X), dtype=bool), np.zeros((len(X), 2))
    if labels == "some":
        known = np.arange(len(X)) < 60
        y = np.where(known, z, np.nan)
    elif labels == "probabilities":
        y = np.full((len(X), 2), np.nan)
        y[:60] = np.where(z[:60, None] == [0, 1], 0.8, 0.2)
        given[:60] = y[:60]
    model = BernoulliMixture(2, alpha=alpha, class_alpha=class_alpha, **TIGHT).fit(X, y, sample_weight=w)

    def objective(theta):
        weights, prob = unpack(theta, 5)
        joint = np.log(weights) + binary_log_density(X, prob)
        rows = logsumexp(joint, axis=1)
        rows[known] = joint[known, z[known]]
        soft = given.sum(axis=1) > 0
        rows[soft] = (given * joint).sum(axis=1)[soft]
        prior = alpha * (np.log(prob) + np.log1p(-prob)).sum() + class_alpha * np.log(weights).sum()
        return w @ rows + prior

    theta = packed(model.weights_, np.exp(model.params_.blocks[0]["log_prob"]))
    variance = np.diag(numerical_covariance(objective, theta))
    weights, prob = unpack(theta, 5)
    expected = np.sqrt(variance[1:].reshape(5, 2)) * prob * (1.0 - prob)
    found = model.standard_errors(X, y, sample_weight=w)
    assert found.is_maximum
    assert_allclose(np.stack([error.values for _, error in found.rows]), expected, rtol=1e-4)
    assert_allclose(found.weight_errors, np.sqrt(variance[0]) * weights.prod(), rtol=1e-4)


def test_categories_with_three_values_and_holes():
    rng = np.random.default_rng(1)
    z = rng.integers(2, size=500)
    table = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    X = np.array([rng.choice(3, size=4, p=table[k]) for k in z]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    model = LatentClass(2, **TIGHT).fit(X)

    def log_prob_of(theta):
        free = np.concatenate([theta[1:].reshape(4, 2, 2), np.zeros((4, 1, 2))], axis=1)
        return free - logsumexp(free, axis=1, keepdims=True)

    def objective(theta):
        log_prob = log_prob_of(theta)
        joint = np.array([-np.logaddexp(0, -theta[0]), -np.logaddexp(0, theta[0])]) + np.zeros((500, 2))
        for j in range(4):
            seen = ~np.isnan(X[:, j])
            joint[seen] += log_prob[j][X[seen, j].astype(int)]
        return logsumexp(joint, axis=1).sum()

    at = np.stack([np.log(model.item_probabilities_[name]).T for name in model.item_probabilities_])
    theta = np.concatenate([[np.log(model.weights_[0] / model.weights_[1])], (at[:, :2] - at[:, 2:]).ravel()])
    covariance = numerical_covariance(objective, theta)
    step = 1e-6 * np.eye(theta.size)
    slopes = [(np.exp(log_prob_of(theta + s)) - np.exp(log_prob_of(theta - s))).ravel() / 2e-6 for s in step]
    expected = np.sqrt(np.einsum("aq,ab,bq->q", slopes, covariance, slopes)).reshape(12, 2)
    found = model.standard_errors(X)
    assert_allclose(np.stack([error.values for _, error in found.rows]), expected, rtol=1e-4)


def test_columns_of_every_kind():
    rng = np.random.default_rng(2)
    z = rng.integers(2, size=300)
    frame = pd.DataFrame(
        {
            "g": 1000.0 + rng.normal(3.0 * z, 1.0 + z),
            "p": rng.poisson(2.0 + 4.0 * z).astype(float),
            "e": rng.exponential(1.0 + z),
            "a": rng.gamma(2.0 + 3.0 * z),
        }
    )
    frame.loc[::9, "g"] = np.nan
    families = {"g": "gaussian", "p": "poisson", "e": "exponential", "a": "gamma"}
    model = Mixture(2, families=families, alpha=0.0, **TIGHT).fit(frame)
    found = model.standard_errors(frame)
    names = [(row.column, row.quantity) for row, _ in found.rows]
    start = np.stack([row.values for row, _ in found.rows])
    place = {name: i for i, name in enumerate(names)}
    g, p, e, a = (frame[name].to_numpy()[:, None] for name in "gpea")

    def objective(theta):
        value = theta[1:].reshape(start.shape)
        at = lambda column, quantity: value[place[column, quantity]]  # noqa: E731 - a name for a lookup
        normal = stats.norm.logpdf(g, at("g", "mean"), np.sqrt(at("g", "variance")))
        joint = np.where(np.isnan(g), 0.0, normal) + stats.poisson.logpmf(p, at("p", "rate"))
        joint = joint + stats.expon.logpdf(e, scale=1.0 / at("e", "rate"))
        joint = joint + stats.gamma.logpdf(a, at("a", "shape"), scale=1.0 / at("a", "rate"))
        return logsumexp(joint + np.log([theta[0], 1.0 - theta[0]]), axis=1).sum()

    theta = np.concatenate([[model.weights_[0]], start.ravel()])
    expected = np.sqrt(np.diag(numerical_covariance(objective, theta, step=5e-5)))
    assert_allclose(found.weight_errors, expected[0], rtol=2e-3)
    assert_allclose(np.stack([error.values for _, error in found.rows]).ravel(), expected[1:], rtol=2e-3)


def test_products_of_scores_and_sandwiches_are_their_formulas():
    X, _, w = binary_rows(holes=0.0)
    model = BernoulliMixture(2, alpha=0.0, **TIGHT).fit(X, sample_weight=w)
    weights, prob = model.weights_, np.exp(model.params_.blocks[0]["log_prob"])
    resp = model.predict_proba(X)
    scores = [resp[:, 0] - weights[0], *(resp[:, k] * (X[:, j] - prob[j, k]) for j in range(5) for k in range(2))]
    scores = np.stack(scores, axis=1)
    products = np.linalg.inv((scores * w[:, None]).T @ scores)

    def objective(theta):
        weights, prob = unpack(theta, 5)
        return w @ logsumexp(np.log(weights) + binary_log_density(X, prob), axis=1)

    bread = numerical_covariance(objective, packed(weights, prob))
    slope = np.append(weights.prod(), (prob * (1.0 - prob)).ravel())
    cases = {
        "scores": products,
        "sandwich": bread @ (scores * w[:, None]).T @ scores @ bread,
        "survey": bread @ (scores * (w * w)[:, None]).T @ scores @ bread,
    }
    for name, covariance in cases.items():
        found = model.standard_errors(X, sample_weight=w, covariance=name)
        expected = np.sqrt(np.diag(covariance)) * slope
        assert_allclose(found.weight_errors[0], expected[0], rtol=1e-4, err_msg=name)
        assert_allclose(np.stack([e.values for _, e in found.rows]).ravel(), expected[1:], rtol=1e-4, err_msg=name)


def errors_of(found):
    return np.concatenate([found.weight_errors, *(error.values for _, error in found.rows)])


@pytest.mark.parametrize("covariance", ["observed", "scores", "sandwich"])
def test_a_weight_is_so_many_rows_and_threads_change_nothing(covariance):
    answers, count = answers_and_counts(CARCINOMA)
    model = LatentClass(3, random_state=0).fit(answers, sample_weight=count)
    weighted = errors_of(model.standard_errors(answers, sample_weight=count, covariance=covariance))
    rows = errors_of(model.standard_errors(np.repeat(answers, count.astype(int), axis=0), covariance=covariance))
    assert_allclose(weighted, rows, rtol=1e-9)
    empty = np.vstack([answers, answers[::-1]])
    zero = model.standard_errors(empty, sample_weight=np.append(count, 0 * count), covariance=covariance)
    assert_allclose(errors_of(zero), weighted, rtol=1e-9)
    again = model.set_params(n_jobs=2).standard_errors(answers, sample_weight=count, covariance=covariance)
    assert_allclose(errors_of(again), weighted, rtol=0.0)


def test_estimates_on_the_boundary_have_none_and_are_marked():
    frame = pd.DataFrame(all_rows(CARCINOMA), columns=list("ABCDEFG"))
    model = LatentClass(3, random_state=0).fit(frame)
    found = model.standard_errors(frame)
    table = found.frame()
    at_edge = (table.estimate < 1e-6) | (table.estimate > 1.0 - 1e-6)
    assert (table.note[at_edge] == "on the boundary").all()
    assert table.standard_error[at_edge].isna().all()
    assert at_edge.sum() == 2 * model.n_boundary_
    assert np.isfinite(table.standard_error[~at_edge]).all()
    assert "(boundary)" in str(found)
    assert "20 estimates lie on the boundary" in str(found)
    # Kept off the edge, every estimate has one.
    smooth = LatentClass(3, alpha=0.1, random_state=0).fit(frame)
    assert np.isfinite(errors_of(smooth.standard_errors(frame))).all()


def test_what_the_rows_do_not_determine_is_infinite():
    # Two items of two values have three free cells, and two classes five parameters.
    X = np.random.default_rng(0).integers(0, 2, (200, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LatentClass(2, alpha=0.0, random_state=0).fit(X)
    found = model.standard_errors(X)
    assert np.isinf(errors_of(found)).any()
    assert "not determined by the rows" in found.notes[-1] or "no maximum" in found.notes[-1]


def test_intervals_hold_their_level_and_stay_inside_what_is_possible():
    truth, inside, total = np.array([0.85, 0.25]), 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = rng.random(400) < 0.4
        X = (rng.random((400, 6)) < truth[z.astype(int)][:, None]).astype(int)
        model = LatentClass(2, random_state=0, n_init=4).fit(X)
        table = model.standard_errors(X).frame()
        part = table[(table.quantity == "probability") & (table.category == 1)]
        expected = np.where(part.component == 0, *truth)
        inside += int(((part.lower <= expected) & (expected <= part.upper)).sum())
        total += len(part)
        assert part.lower.between(0, 1).all()
        assert part.upper.between(0, 1).all()
    assert 0.92 < inside / total < 0.975


def test_the_table_can_be_printed_and_read(capsys):
    frame = pd.DataFrame(all_rows(CHEATING), columns=["exam", "paper", "fraud", "copy"])
    found = LatentClass(2, random_state=0).fit(frame).standard_errors(frame)
    table = found.frame(level=0.9)
    assert list(table.columns[-4:]) == ["standard_error", "lower", "upper", "note"]
    assert len(table) == 2 + 16
    assert table.category[2] == 1
    assert "size" in str(found)
    assert "exam = 2" in str(found)
    with pytest.raises(ValueError, match="level is 2"):
        found.frame(level=2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GaussianMixture(2, random_state=0), "multivariate_gaussian block"),
        (GaussianMixture(2, covariance_type="spherical", random_state=0), "several components or columns share"),
        (Mixture(2, families="gaussian", shared_variance=True, random_state=0), "several components or columns share"),
    ],
)
def test_what_there_is_none_for_is_refused_with_a_way_out(model, message):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match=message):
        model.fit(X).standard_errors(X)
    with pytest.raises(ValueError, match="covariance is 'best'"):
        model.standard_errors(X, covariance="best")


def test_diagonal_gaussian_mixtures_poisson_and_codes_have_them_as_well():
    rng = np.random.default_rng(3)
    z = rng.integers(2, size=400)
    X = rng.normal(6.0 * z[:, None], 1.0, (400, 2))
    model = GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    # Far apart, each component is a sample of its own.
    for k in range(2):
        mean = model.standard_errors(X).rows[0][1].values[k]
        assert_allclose(mean, np.sqrt(model.covariances_[k, 0] / (400 * model.weights_[k])), rtol=1e-2)
    counts = rng.poisson(1.0 + 30.0 * z[:, None], (400, 2))
    rates = PoissonMixture(2, alpha=0.0, random_state=0).fit(counts)
    found = rates.standard_errors(counts).rows[0][1].values
    assert_allclose(found, np.sqrt(rates.rates_[:, 0] / (400 * rates.weights_)), rtol=1e-2)
    codes = all_rows(CHEATING) - 1
    one = CategoricalMixture(1, alpha=0.0).fit(codes)
    share = (codes[:, 0] == 1).mean()
    error = one.standard_errors(codes).rows[1][1].values[0]
    assert_allclose(error, np.sqrt(share * (1.0 - share) / len(codes)), rtol=1e-9)
