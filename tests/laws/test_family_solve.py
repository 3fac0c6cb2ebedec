"""Laws of solving: the parameters maximize what is monitored, and every boundary has a rule."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softcount.families import (
    Bernoulli,
    Categorical,
    Gaussian,
    MomentPrior,
    Multinomial,
    MultivariateGaussian,
    PseudoCounts,
)
from tests.laws.family_cases import CASES
from tests.laws.family_tables import N_CLASSES, N_COLUMNS, Table, every_table

whole = pytest.mark.parametrize("table", every_table(), ids=lambda t: t.name)
# What is missing in a full Gaussian's rows is filled in from older parameters: that is EM, tested elsewhere.
incomplete = [t for t in every_table(missing=True) if t.name != "multivariate_gaussian"]
whole_or_not = pytest.mark.parametrize(
    "table", every_table() + incomplete, ids=lambda t: t.name + ("-missing" if t.has_missing else "")
)
smoothing = pytest.mark.parametrize("alpha", [0.0, 0.7])


def objective(table, params, prior):
    """Expected log-likelihood with the variance floors' share, plus log-prior: what EM must not lower."""
    family = table.family
    total = float(np.sum(table.resp * table.scores(params))) + family.log_prior(params, prior)
    penalty = family.penalty(params, prior)
    if penalty is not None:
        weight = table.statistics().weight
        total += float(np.sum(penalty * (weight if penalty.ndim == 2 else weight[0])))
    return total


def neighbors(table, params, rng):
    """Parameters near ``params`` in random directions, still inside the family."""
    family = table.family
    for size in (1e-3, 1e-2):
        for _ in range(6):
            if isinstance(family, Categorical):
                logs = params["log_prob"] + size * rng.normal(size=params["log_prob"].shape)
                yield {"log_prob": logs - np.log(family.column_sums(np.exp(logs)))}
            elif isinstance(family, Multinomial):
                logs = params["log_prob"] + size * rng.normal(size=params["log_prob"].shape)
                yield {"log_prob": logs - np.log(np.exp(logs).sum(axis=0))}
            elif isinstance(family, MultivariateGaussian):
                yield _moved_gaussian(family, params, size, rng)
            elif isinstance(family, Gaussian):
                shape = params["var"].shape
                kind = (1 if family.spherical else shape[0], 1 if family.shared else shape[1])
                mean = params["mean"] + size * rng.normal(size=shape)
                yield {"mean": mean, "var": params["var"] * np.exp(size * rng.normal(size=kind))}
            elif table.name == "dirichlet":
                yield {
                    "concentration": params["concentration"] * np.exp(size * rng.normal(size=(N_COLUMNS, N_CLASSES)))
                }
            else:
                natural = family.natural(params)
                yield family.from_natural(natural + size * np.abs(natural) * rng.normal(size=natural.shape))


def _moved_gaussian(family, params, size, rng):
    noise = size * rng.normal(size=(1 if family.shared else N_CLASSES, N_COLUMNS, N_COLUMNS))
    turn = np.eye(N_COLUMNS) + noise
    cov = turn @ params["cov"] @ np.swapaxes(turn, 1, 2)
    return {"mean": params["mean"] + size * rng.normal(size=params["mean"].shape), "cov": cov}


def maximizes(table, prior):
    statistics = table.statistics()
    prior = table.family.anchored(prior, statistics.pooled())
    assert not table.family.needs_anchor(prior)
    params = table.family.solve(statistics, prior)
    if table.has_missing and not table.family.closed_form_with_missing:
        # What is missing is guessed by the parameters: the maximum is where guessing and solving agree.
        for _ in range(500):
            params = table.family.solve(table.statistics(params=params), prior)
    best = objective(table, params, prior)
    assert np.isfinite(best)
    lower = [objective(table, near, prior) for near in neighbors(table, params, np.random.default_rng(1))]
    assert len(lower) == 12
    assert max(lower) <= best + 1e-9 * abs(best)
    assert min(lower) < best
    return params


# Without smoothing the maximum of these may lie on the boundary, where neighbors can tie with it.
SMOOTH = [t for t in every_table() + incomplete if not isinstance(t.family, Bernoulli | Categorical | Multinomial)]


@pytest.mark.parametrize(
    ("table", "alpha"),
    [(t, 0.7) for t in every_table() + incomplete] + [(t, 0.0) for t in SMOOTH],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_solution_maximizes_likelihood_and_prior(table: Table, alpha):
    maximizes(table, table.prior(alpha))


@pytest.mark.parametrize(("shared", "spherical"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("missing", [False, True])
def test_shared_and_spherical_variances_maximize_too(shared, spherical, missing):
    table = Table(CASES["gaussian"], missing=missing)
    table.family = Gaussian(shared=shared, spherical=spherical)
    explicit = MomentPrior(
        weight=1.5, mean=np.array([0.0, 1.0, 2.0]), scatter=np.array([1.0, 2.0, 3.0]), dof=4.0, floor=0.1
    )
    for prior in (table.prior(0.0), table.prior(0.7), explicit):
        params = maximizes(table, prior)
        assert np.unique(params["var"]).size == (1 if spherical else 3) * (1 if shared else 2)


@pytest.mark.parametrize("shared", [False, True])
def test_full_covariances_maximize_with_every_form_of_prior(shared):
    table = Table(CASES["multivariate_gaussian"])
    table.family = MultivariateGaussian(shared=shared)
    matrix = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]])
    for scatter in (1.5, np.array([1.0, 2.0, 3.0]), matrix):
        prior = MomentPrior(weight=2.0, mean=np.array([1.0, 0.0, -1.0]), scatter=scatter, dof=5.0, floor=0.05)
        params = maximizes(table, prior)
        assert np.all(np.linalg.eigvalsh(params["cov"]) > 0.0)


@pytest.mark.parametrize("table", [t for t in every_table() if t.name != "categorical"], ids=lambda t: t.name)
def test_solving_without_a_prior_is_fitting_each_class(table: Table):
    params = table.family.solve(table.statistics(), no_prior(table))
    for k in range(N_CLASSES):
        fitted = table.family.fit(table.values, table.resp[:, k])
        for name, value in fitted.items():
            own = params[name][k] if name == "cov" else params[name][..., k]
            assert_allclose(own, value, rtol=1e-8, atol=1e-10)


@whole
def test_much_smoothing_makes_the_classes_alike(table: Table):
    params = table.family.solve(table.statistics(), _heavy(table, 1e9))
    for name, array in params.items():
        first, second = (array[0], array[1]) if name == "cov" else (array[..., 0], array[..., 1])
        assert_allclose(first, second, rtol=1e-5, atol=1e-5)


def _heavy(table, alpha):
    if table.family.prior_class is MomentPrior:
        return MomentPrior(weight=alpha, mean=0.5, scatter=2.0 * alpha, dof=alpha, floor=0.0)
    return PseudoCounts(np.asarray(alpha))


def no_prior(table):
    return MomentPrior(smoothing=0.0) if table.family.prior_class is MomentPrior else PseudoCounts(np.asarray(0.0))


@smoothing
@whole_or_not
def test_a_class_without_weight_gets_finite_parameters_and_scores(table: Table, alpha):
    resp = table.resp.copy()
    resp[:, 1] = 0.0
    params = table.family.solve(table.statistics(resp), _with_floor(table, alpha))
    scores = table.scores(params)
    assert not np.any([np.isnan(array).any() for array in params.values()])
    assert not np.isnan(scores).any()
    assert np.all(np.isfinite(scores))


def _with_floor(table, alpha):
    if table.family.prior_class is MomentPrior:
        return MomentPrior(smoothing=1e-9)
    return PseudoCounts(np.asarray(alpha))


@pytest.mark.parametrize("name", sorted(set(CASES) - {"bernoulli", "categorical", "multinomial"}))
def test_a_class_without_weight_takes_the_overall_distribution(name):
    table = Table(CASES[name])
    resp = table.resp.copy()
    resp[:, 1] = 0.0
    params = table.family.solve(table.statistics(resp), no_prior(table))
    for key, array in params.items():
        first, second = (array[0], array[1]) if key == "cov" else (array[..., 0], array[..., 1])
        assert_allclose(first, second, rtol=1e-9)


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "multinomial"])
def test_a_class_without_weight_finds_all_values_equally_likely(name):
    table = Table(CASES[name])
    resp = table.resp.copy()
    resp[:, 1] = 0.0
    log_prob = table.family.solve(table.statistics(resp), PseudoCounts(np.asarray(0.0)))["log_prob"][:, 1]
    assert_allclose(log_prob, -np.log({"bernoulli": 2, "categorical": 4, "multinomial": 3}[name]))


@smoothing
@whole
def test_constant_columns_give_scores_that_are_numbers(table: Table, alpha):
    constant = table.case.constant
    row = np.full(N_COLUMNS, constant, dtype=np.float64) if np.ndim(constant) == 0 else np.resize(constant, N_COLUMNS)
    values = np.tile(row, (12, 1))
    block = table.block(values)
    resp = table.rng.dirichlet(np.ones(N_CLASSES), 12)
    prior = MomentPrior(floor=1e-9) if table.family.prior_class is MomentPrior else _with_floor(table, alpha)
    params = table.family.solve(table.statistics(resp, block), prior)
    assert np.all(np.isfinite(table.scores(params, block)))
    assert not np.isnan(table.scores(params)).any()


@smoothing
@pytest.mark.parametrize("table", incomplete, ids=lambda t: t.name)
def test_a_column_without_any_value_tells_the_classes_nothing(table: Table, alpha):
    values = np.asarray(table.values, dtype=np.float64).copy()
    values[:, 1] = np.nan
    params = table.family.solve(table.statistics(block=table.block(values)), _with_floor(table, alpha))
    if table.name in ("multinomial", "dirichlet"):
        assert not np.isnan(params["log_prob" if table.name == "multinomial" else "concentration"]).any()
        return
    one_column = np.full_like(values, np.nan)
    one_column[:, 1] = np.nan_to_num(np.asarray(table.values, dtype=np.float64)[:, 1], nan=table.case.constant)
    scores = table.scores(params, table.block(one_column))
    assert np.all(np.isfinite(scores))
    assert_allclose(scores[:, 0], scores[:, 1], rtol=1e-9)


@whole
def test_the_number_of_parameters_is_what_can_move(table: Table):
    per_class = {
        "bernoulli": 3, "beta": 6, "categorical": 9, "dirichlet": 3, "exponential": 3, "gamma": 6, "gaussian": 6,
        "geometric": 3, "inverse_gaussian": 6, "multinomial": 2, "multivariate_gaussian": 9, "negative_binomial": 3,
        "poisson": 3, "von_mises": 6,
    }  # fmt: skip
    assert table.family.n_parameters(table.params) == N_CLASSES * per_class[table.name]


@whole
def test_the_overall_distribution_as_a_prior_keeps_solutions_between_it_and_the_class(table: Table):
    statistics = table.statistics()
    plain = MomentPrior() if table.family.prior_class is MomentPrior else PseudoCounts(np.asarray(0.5))
    prior = table.family.centered(plain, statistics.pooled())
    params = table.family.solve(statistics, prior)
    assert not table.family.needs_anchor(prior)
    assert np.all(np.isfinite(table.scores(params)))
    own = _means(table.family, table.family.solve(statistics, _no_prior(table)))
    overall = _means(table.family, table.family.solve(statistics.pooled(), plain))
    between = (_means(table.family, params) - overall) / (own - overall)
    assert np.all((between > 0.0) & (between < 1.0))
    if isinstance(table.family, Bernoulli | Categorical | Multinomial):
        # 0.5 for each of 2 or 4 values, or 3 words: the mass is that of the prior it was made from.
        mass = 0.5 * {"bernoulli": 2, "categorical": 4, "multinomial": 3}[table.name]
        found = statistics.arrays()
        seen = found["sum"].sum(axis=0) if table.name == "multinomial" else table.resp.sum(axis=0)
        assert_allclose(between, np.broadcast_to(seen / (seen + mass), between.shape), rtol=1e-9)


def _no_prior(table):
    return table.prior(0.0)


def _means(family, params):
    """What a solution averages, the class axis last: the means of the statistics, or of a full Gaussian's columns."""
    if isinstance(family, Bernoulli | Categorical | Multinomial):
        return np.exp(params["log_prob"])
    if isinstance(family, Gaussian | MultivariateGaussian):
        return params["mean"]
    if "concentration" in params and "direction" not in params:
        return family.mean_stats(family.take_rows(params)).T
    return family.mean_stats(params)
