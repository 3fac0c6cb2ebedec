"""The search for the maximum: starts of every kind, the best run to the end, failures set aside."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from softcount import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    LatentClass,
    Mixture,
    PoissonMixture,
    select,
)
from tests.estimators.mixture.cases import ALL, CATEGORICAL, DISCRETE, LATENT_CLASS
from tests.reference.published_tables import CARCINOMA, all_rows

STARTS = [None, "k-means++", "kmeans", "random", "random_from_data"]


@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize("case", DISCRETE, ids=str)
def test_every_kind_of_start_finds_the_same_maximum_of_separated_rows(case, init):
    X, _ = case.rows(200, 12, seed=1)
    best = case.make(3, n_init=30).fit(X).log_likelihood_
    model = case.make(3, init=init, n_init=20).fit(X)
    assert_allclose(model.log_likelihood_, best, rtol=1e-6)


def test_many_starts_find_what_single_starts_miss():
    rows = all_rows(CARCINOMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = [LatentClass(4, n_init=1, random_state=s).fit(rows).log_likelihood_ for s in range(12)]
    assert min(single) < -289.7
    for seed in range(4):
        assert LatentClass(4, random_state=seed).fit(rows).log_likelihood_ > -289.286


def test_the_number_of_starts_that_reached_the_best_value_is_counted():
    model = LatentClass(3, n_init=12, n_final=7, random_state=0).fit(all_rows(CARCINOMA))
    assert (model.n_starts_, model.n_finished_starts_) == (12, 7)
    assert 1 <= model.n_best_starts_ <= 7
    assert "7 run to the end" in model.summary()


@pytest.mark.parametrize("max_iter", [0, 4, 15, 40])
def test_no_start_takes_more_iterations_than_allowed_and_without_a_tolerance_all_of_them(max_iter):
    rows = all_rows(CARCINOMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = LatentClass(3, tol=0.0, max_iter=max_iter, random_state=0).fit(rows)
        early = LatentClass(3, max_iter=max_iter, random_state=0).fit(rows)
    assert exact.n_iter_ == max_iter
    assert [step.iteration for step in exact.history_] == list(range(max_iter + 1))
    assert early.n_iter_ <= max_iter


def test_a_maximum_reached_once_is_warned_about():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 3, (60, 8))
    with pytest.warns(UserWarning, match="reached by 1 of the"):
        LatentClass(6, n_init=8, random_state=0).fit(noise)


def test_given_responsibilities_components_parameters_and_lists_of_them_are_started_from():
    X, y = CATEGORICAL.rows(150, 8, seed=3)
    resp = np.eye(3)[y]
    by_resp = CATEGORICAL.make(3, init=resp, order=None).fit(X)
    by_codes = CATEGORICAL.make(3, init=y, order=None).fit(X)
    by_model = CATEGORICAL.make(3, init=by_resp, order=None).fit(X)
    by_list = CATEGORICAL.make(3, init=[by_resp, by_resp.params_], order=None).fit(X)
    several = CATEGORICAL.make(3, init=np.stack([resp, np.roll(resp, 1, axis=1)]), order=None).fit(X)
    for model in (by_codes, by_model, by_list, several):
        assert_allclose(model.log_likelihood_, by_resp.log_likelihood_, rtol=1e-8)
    assert by_model.n_iter_ <= 3
    assert by_list.n_starts_ == several.n_starts_ == 2
    assert_array_equal(by_resp.predict(X), by_codes.predict(X))


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("guess", "choose one of"),
        (np.ones((3, 2)), "starting responsibilities"),
        (np.full(150, 7), "they are 0 to 2"),
        (-np.ones((150, 3)), "0 or more"),
    ],
    ids=["name", "shape", "codes", "negative"],
)
def test_a_start_that_cannot_be_used_is_named(init, message):
    X, _ = CATEGORICAL.rows(150, 8, seed=3)
    with pytest.raises(ValueError, match=message):
        CATEGORICAL.make(3, init=init).fit(X)


def test_when_every_start_fails_the_reason_is_told():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.raises(ValueError, match=r"All 1 starts failed; .* is singular"):
        GaussianMixture(2, init_params="kmeans", reg_covar=0.0, random_state=0).fit(X)


def test_a_spike_on_a_few_rows_is_passed_over_for_a_maximum():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0.0, 1.0, 80), rng.normal(3.0, 1.0, 80), [9.0, 9.0, 9.0]])[:, None]
    starts = [np.r_[np.zeros(160, int), 1, 1, 1], np.r_[np.zeros(80, int), np.ones(83, int)]]
    resp = np.stack([np.eye(2)[codes] for codes in starts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spike = gaussian_column_mixture(resp[:1]).fit(X)
    assert any("has shrunk onto" in note for note in spike.notes_)
    with pytest.warns(UserWarning, match="passed over"):
        sound = gaussian_column_mixture(resp).fit(X)
    assert not any("has shrunk onto" in note for note in sound.notes_)
    assert sound.log_likelihood_ < spike.log_likelihood_


def gaussian_column_mixture(init):
    return Mixture(2, init=init, families="gaussian", order=None, var_smoothing=1e-9)


def test_an_empty_component_is_named_and_stays_defined():
    X, _ = CATEGORICAL.rows(60, 4, seed=0)
    resp = np.column_stack([np.ones(60), np.zeros(60)])
    with pytest.warns(UserWarning, match="component 1 is empty"):
        model = CATEGORICAL.make(2, init=resp, order=None).fit(X)
    assert model.weights_.tolist() == [1.0, 0.0]
    assert all(np.isfinite(p).all() for p in model.probabilities_)
    assert_allclose(model.predict_proba(X)[:, 0], 1.0)
    filled = CATEGORICAL.make(2, init=resp, order=None, class_alpha=1.0).fit(X)
    assert filled.weights_.min() > 0.0


@pytest.mark.parametrize("case", ALL, ids=str)
def test_annealing_ends_at_the_maximum_as_well(case):
    X, _ = case.rows(150, 8, seed=2)
    plain = case.make(3).fit(X)
    annealed = case.make(3, annealing=(4.0, 2.0), n_init=3).fit(X)
    assert annealed.log_likelihood_ > plain.log_likelihood_ - 1e-3 * abs(plain.log_likelihood_)


def test_annealing_softens_the_first_iterations():
    X, _ = LATENT_CLASS.rows(200, 8, seed=2)
    start = np.eye(2)[np.r_[0, np.ones(199, int)]]
    hot = LATENT_CLASS.make(2, annealing=(50.0,), init=start, max_iter=1, tol=0.0, order=None, alpha=0.1)
    cold = LATENT_CLASS.make(2, init=start, max_iter=2, tol=0.0, order=None, alpha=0.1)
    assert np.abs(hot.fit(X).weights_ - 0.5).max() < np.abs(cold.fit(X).weights_ - 0.5).max()
    with pytest.raises(ValueError, match="temperatures are above 1"):
        LATENT_CLASS.make(2, annealing=(0.5,)).fit(X)


def test_leaps_need_fewer_iterations_for_the_same_maximum():
    rows = all_rows(CARCINOMA)
    start = np.random.default_rng(5).dirichlet(np.ones(4), len(rows))
    plain = LatentClass(4, init=start, accelerate=False, max_iter=20000).fit(rows)
    leaps = LatentClass(4, init=start, accelerate=True, max_iter=20000).fit(rows)
    assert_allclose(leaps.log_likelihood_, plain.log_likelihood_, rtol=1e-8)
    assert leaps.n_iter_ < plain.n_iter_ / 2


def test_the_saddle_of_equal_shares_is_left():
    X, _ = CATEGORICAL.rows(100, 8, seed=0)
    with pytest.warns(UserWarning, match="saddle"):
        model = CATEGORICAL.make(2, init="uniform").fit(X)
    assert model.log_likelihood_ > CATEGORICAL.make(1).fit(X).log_likelihood_ + 1.0


def test_stopping_early_is_warned_about_and_told():
    from sklearn.exceptions import ConvergenceWarning

    rows = all_rows(CARCINOMA)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = LatentClass(4, max_iter=2, n_init=1, random_state=0).fit(rows)
    assert not model.converged_
    assert "NOT converged" in model.summary()


def test_components_come_by_size_or_by_a_column():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.poisson(2.0, (40, 2)), rng.poisson(9.0, (90, 2)), rng.poisson(20.0, (60, 2))])
    by_size = PoissonMixture(3, random_state=0).fit(X)
    assert (np.diff(by_size.weights_) <= 0.0).all()
    by_column = PoissonMixture(3, order=1, random_state=0).fit(X)
    assert (np.diff(by_column.rates_[:, 1]) >= 0.0).all()
    assert_allclose(by_column.log_likelihood_, by_size.log_likelihood_, rtol=1e-8)
    again = [PoissonMixture(3, random_state=seed).fit(X).rates_ for seed in range(3)]
    assert_allclose(again[0], again[1], rtol=1e-3)
    assert_allclose(again[0], again[2], rtol=1e-3)
    with pytest.raises(ValueError, match="order is 'age'"):
        PoissonMixture(3, order="age").fit(X)


def test_progress_is_printed_when_asked_for(capsys):
    LatentClass(2, verbose=1, random_state=0).fit(all_rows(CARCINOMA))
    printed = capsys.readouterr().err
    assert "20 starts, objectives" in printed
    assert "final objectives" in printed
    CategoricalMixture(2, verbose=3, n_init=1, random_state=0).fit(all_rows(CARCINOMA))
    assert "iteration    1" in capsys.readouterr().err


def interrupting(monkeypatch, at, *, together):
    """Ctrl-C at the given step of all the steps that are taken: by starts that go together, or one by one."""
    from softcount.core import start_work
    from softcount.core.iterate import iterate
    from softcount.core.starts_together import iterate_together

    run, look = (iterate_together, "on_pass") if together else (iterate, "on_step")
    steps = []

    def interrupted(*given, **options):
        on_step = options.pop(look, None)

        def step(seen, params):
            steps.append(seen)
            if on_step is not None:
                on_step(seen, params)
            if len(steps) == at:
                raise KeyboardInterrupt

        return run(*given, **{look: step}, **options)

    monkeypatch.setattr(start_work, run.__name__, interrupted)
    if not together:
        monkeypatch.setattr(start_work, "starts_together", lambda *_: 1)
    return steps


@pytest.mark.parametrize("together", [True, False])
def test_ctrl_c_keeps_what_was_found_so_far(monkeypatch, together):
    steps = interrupting(monkeypatch, 5, together=together)
    with pytest.warns(UserWarning, match="interrupted"):
        model = LatentClass(3, n_jobs=1, n_init=4, n_final=4, random_state=0).fit(all_rows(CARCINOMA))
    assert len(steps) == 5
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize(("together", "at"), [(True, 10), (False, 20)])
def test_ctrl_c_among_the_short_runs_starts_no_long_one_and_says_how_far_it_came(monkeypatch, together, at):
    steps = interrupting(monkeypatch, at, together=together)
    with pytest.warns(UserWarning, match="search was interrupted after 0 of 8 starts"):
        model = LatentClass(3, n_jobs=1, n_init=8, random_state=0).fit(all_rows(CARCINOMA))
    assert len(steps) == at
    assert not model.converged_
    assert np.isfinite(model.log_likelihood_)


@pytest.mark.parametrize(("together", "at"), [(True, 25), (False, 60)])
def test_ctrl_c_between_finished_runs_is_said_although_the_best_has_converged(monkeypatch, together, at):
    interrupting(monkeypatch, at, together=together)
    with pytest.warns(UserWarning, match="search was interrupted after [1-7] of 8 starts"):
        LatentClass(2, n_jobs=1, n_init=8, n_final=8, random_state=0).fit(all_rows(CARCINOMA))


@pytest.mark.parametrize("together", [True, False])
def test_ctrl_c_ends_a_bootstrap_instead_of_counting_a_fit_that_was_cut_short(monkeypatch, together):
    X = all_rows(CARCINOMA)
    small, large = (LatentClass(k, random_state=0).fit(X) for k in (2, 3))
    interrupting(monkeypatch, 5, together=together)
    with pytest.raises(KeyboardInterrupt):
        select.bootstrap_test(small, large, X, n_samples=5)
    # Here every sample has one start.
    interrupting(monkeypatch, 5, together=False)
    with pytest.raises(KeyboardInterrupt):
        small.goodness_of_fit(X, n_bootstrap=5)


def test_ctrl_c_ends_all_sizes_of_a_comparison(monkeypatch):
    seen = []

    def progress(done, total):
        seen.append(done)
        raise KeyboardInterrupt

    model = LatentClass(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(KeyboardInterrupt):
            select.how_many(model, all_rows(CARCINOMA), range(1, 4), n_jobs=1, progress=progress)
    assert len(seen) < 3


def test_columns_without_values_and_copies_of_components_are_pointed_out():
    X = all_rows(CARCINOMA).astype(float)
    with pytest.warns(UserWarning, match="'x7' has no value in any row"):
        silent = LatentClass(2, random_state=0).fit(np.column_stack([X, np.full(len(X), np.nan)]))
    without = LatentClass(2, random_state=0).fit(X)
    assert silent.log_likelihood_ == pytest.approx(without.log_likelihood_, rel=1e-9)
    assert (silent.goodness_.df, silent.n_parameters_) == (without.goodness_.df, without.n_parameters_)
    assert silent.goodness_.g2 == pytest.approx(without.goodness_.g2, rel=1e-6)
    with pytest.warns(UserWarning, match="'x1', 'x2' have no value"):
        GaussianMixture(2, random_state=0).fit(np.column_stack([X[:, :1], np.full((len(X), 2), np.nan)]))
    with pytest.warns(UserWarning, match="3 components: there are 2 different rows for 3 components"):
        BernoulliMixture(3, random_state=0).fit([[0, 1], [1, 0]] * 5)
    with pytest.warns(UserWarning, match="log-likelihood is minus infinity"):
        PoissonMixture(1).fit([[0.5], [2.0]])
