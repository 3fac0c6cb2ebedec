"""``unlabeled_weight="auto"``: its laws and its edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from softcount import BernoulliNB, MultinomialNB
from softcount._errors import ConvergenceWarning, InputError
from softcount.core import fold_fits
from tests.core.unlabeled_rows import text_like, with_few_labels
from tests.estimators.naive_bayes.cases import GENERATIVE, WITH_RIVAL, Case

AUTO: dict[str, Any] = {"unlabeled_weight": "auto"}
TEXT = {"burst": 60.0, "share": 0.15}


def few(case: Case, *, n_rows: int = 90, per_class: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    X, truth = case.rows(n_rows=n_rows, seed=seed)
    return X, with_few_labels(truth, per_class, seed), truth


# ---- laws
@pytest.mark.parametrize("case", WITH_RIVAL, ids=lambda case: case.name)
def test_complete_labels_give_scikit_learn_s_classifier_to_the_last_probability(case: Case) -> None:
    if case.name == "ComplementNB":
        pytest.skip("a scoring rule, which has no unlabeled rows")
    X, y = case.rows()
    mine, theirs = case.make(**AUTO).fit(X, y), case.rival().fit(X, y)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert mine.unlabeled_verdict_ is None
    assert mine.calibration_ is None
    assert mine.unlabeled_use_ == "none"


@pytest.mark.parametrize("case", GENERATIVE, ids=lambda case: case.name)
def test_weight_zero_is_the_fit_of_the_labeled_rows_alone(case: Case) -> None:
    X, y, _ = few(case)
    known = ~np.isnan(y)
    # Categories that occur in unlabeled rows alone exist all the same.
    settings = {"min_categories": 8} if case.name == "CategoricalNB" else {}
    alone = case.make(**settings).fit(X[known], y[known])
    found = case.make(unlabeled_weight=0.0, **settings).fit(X, y)
    np.testing.assert_allclose(found.predict_joint_log_proba(X), alone.predict_joint_log_proba(X), rtol=1e-8, atol=1e-8)
    assert found.unlabeled_use_ == "none"
    assert found.unlabeled_weight_ == 0.0


@pytest.mark.parametrize("case", GENERATIVE, ids=lambda case: case.name)
def test_rows_of_weight_zero_are_as_good_as_absent(case: Case) -> None:
    X, y, _ = few(case)
    weight = np.ones(90)
    weight[np.random.default_rng(1).choice(90, 20, replace=False)] = 0.0
    weight[np.flatnonzero(y == 0)[:2]] = 1.0
    kept = weight > 0.0
    whole = case.make(**AUTO).fit(X, y, sample_weight=weight)
    part = case.make(**AUTO).fit(X[kept], y[kept])
    assert whole.unlabeled_use_ == part.unlabeled_use_
    np.testing.assert_allclose(whole.predict_proba(X), part.predict_proba(X), rtol=1e-6, atol=1e-9)
    assert str(whole.unlabeled_verdict_) == str(part.unlabeled_verdict_)


@pytest.mark.parametrize("case", GENERATIVE, ids=lambda case: case.name)
def test_a_weight_of_an_unlabeled_row_is_that_many_rows(case: Case) -> None:
    X, y, _ = few(case)
    weight = np.where(np.isnan(y), np.random.default_rng(1).integers(1, 4, 90), 1)
    again = np.repeat(np.arange(90), weight)
    weighted = case.make(**AUTO).fit(X, y, sample_weight=weight.astype(float))
    repeated = case.make(**AUTO).fit(X[again], y[again])
    assert weighted.unlabeled_use_ == repeated.unlabeled_use_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5, atol=1e-8)


def test_the_result_does_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=140_000)
    X = (rng.random((140_000, 4)) < np.where(truth[:, None] == 0, 0.3, 0.6)).astype(np.uint8)
    y = with_few_labels(truth, 10, 0)
    one, two = (BernoulliNB(**AUTO, n_jobs=n, max_iter=2, tol=0.0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X[:100]), two.predict_proba(X[:100]))
    assert one.unlabeled_verdict_ == two.unlabeled_verdict_


@pytest.mark.parametrize("case", GENERATIVE, ids=lambda case: case.name)
def test_fitting_twice_gives_the_same_bits(case: Case) -> None:
    X, y, _ = few(case)
    first, second = case.make(**AUTO).fit(X, y), case.make(**AUTO).fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("case", [c for c in GENERATIVE if c.reads_sparse], ids=lambda case: case.name)
def test_sparse_and_dense_rows_are_used_alike(case: Case) -> None:
    X, y, _ = few(case)
    dense, sparse = case.make(**AUTO).fit(X, y), case.make(**AUTO).fit(csr_array(X.astype(float)), y)
    assert dense.unlabeled_use_ == sparse.unlabeled_use_
    np.testing.assert_allclose(dense.predict_proba(X), sparse.predict_proba(csr_array(X.astype(float))), rtol=1e-6)


@pytest.mark.parametrize("case", GENERATIVE, ids=lambda case: case.name)
def test_calibrated_probabilities_never_change_the_answer(case: Case) -> None:
    X, y, _ = few(case)
    model = case.make(**AUTO).fit(X, y)
    assert model.calibration_ is not None
    raw = model.predict_joint_log_proba(X)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), raw.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    logs = model.predict_log_proba(X)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs), probability, atol=1e-12)


# ---- edges
def test_a_single_label_per_class_is_enough_to_fit_and_too_few_to_tell() -> None:
    X, truth = text_like(300, 80, 3, 1, **TEXT)
    model = MultinomialNB(**AUTO).fit(X, with_few_labels(truth, 1, 0))
    assert model.unlabeled_use_ == "full"
    assert str(model.unlabeled_verdict_).startswith("Too few labels to tell (3 labeled rows of known class")
    assert model.calibration_.kind == "temperature"


def test_a_class_with_one_label_among_others_leaves_the_verdict_open() -> None:
    X, truth = text_like(300, 80, 3, 2, **TEXT)
    y = with_few_labels(truth, 6, 0)
    y[np.flatnonzero(y == 2)[1:]] = np.nan
    model = MultinomialNB(**AUTO).fit(X, y)
    assert model.unlabeled_use_ in ("marginals", "full")
    assert not model.unlabeled_verdict_.conclusive
    assert "single labeled row" in str(model.unlabeled_verdict_)


@pytest.mark.parametrize("named", [{"classes": ["a", "b", "c"]}, {"n_classes": 3}])
def test_classes_that_nobody_has_labeled_make_it_the_mixture(named: dict[str, Any]) -> None:
    X, truth = text_like(200, 40, 2, 3, **TEXT)
    y = np.array([None] * 200, dtype=object)
    for k, name in enumerate("ab"):
        y[np.flatnonzero(truth == k)[:5]] = name
    settings = {**named, "random_state": 0}
    auto, plain = (MultinomialNB(unlabeled_weight=w, **settings).fit(X, y) for w in ("auto", 1.0))
    np.testing.assert_array_equal(auto.predict_proba(X), plain.predict_proba(X))
    assert auto.unlabeled_verdict_ is None
    assert auto.unlabeled_use_ == "full"


def test_one_class_alone_leaves_nothing_to_choose() -> None:
    X, _ = text_like(50, 20, 2, 4)
    y = np.where(np.arange(50) < 10, 7.0, np.nan)
    with pytest.warns(UserWarning, match="All rows with a label are of one class"):
        model = MultinomialNB(**AUTO).fit(X, y)
    assert model.predict(X).tolist() == [7.0] * 50
    assert model.unlabeled_verdict_ is None


def test_rows_of_probabilities_as_only_labels_are_used_with_the_unlabeled_ones() -> None:
    X, truth = text_like(300, 80, 2, 5, **TEXT)
    y = np.full((300, 2), np.nan)
    for k in range(2):
        y[np.flatnonzero(truth == k)[:10]] = np.where(np.arange(2) == k, 0.9, 0.1)
    model = MultinomialNB(**AUTO).fit(X, y)
    assert model.unlabeled_use_ == "full"
    assert str(model.unlabeled_verdict_).startswith("Too few labels to tell (0 labeled rows of known class")
    assert model.score(X, truth) > MultinomialNB(unlabeled_weight=0.0).fit(X, y).score(X, truth)


def test_sets_of_classes_stay_sets() -> None:
    X, truth = text_like(300, 80, 3, 6, **TEXT)
    few_labels = with_few_labels(truth, 6, 0)
    y = np.array([None if np.isnan(v) else int(v) for v in few_labels], dtype=object)
    partly = np.flatnonzero(np.isnan(few_labels))[:60]
    for row in partly:
        y[row] = {int(truth[row]), (int(truth[row]) + 1) % 3}
    model = MultinomialNB(**AUTO).fit(X, y)
    assert model.unlabeled_verdict_.n_labeled == 18
    assert model.unlabeled_verdict_.n_unlabeled == 300 - 18 - 60
    resp = model.responsibilities(X, y)
    np.testing.assert_array_equal(resp[partly, (truth[partly] + 2) % 3], 0.0)


@pytest.mark.parametrize("case", GENERATIVE, ids=lambda case: case.name)
def test_missing_cells_are_allowed_everywhere(case: Case) -> None:
    X, y, truth = few(case, n_rows=150, per_class=8)
    model = case.make(**AUTO).fit(case.missing_cells(X), y)
    assert np.isfinite(model.predict_proba(case.missing_cells(X, seed=3))).all()
    assert model.score(X, truth) > 0.4


def test_several_components_per_class_are_chosen_about_alike() -> None:
    X, truth = text_like(300, 80, 2, 7, **TEXT)
    model = MultinomialNB(**AUTO, n_components_per_class=2, n_init=2, random_state=0)
    model.fit(X, with_few_labels(truth, 10, 0))
    assert model.feature_log_prob_.shape == (4, 80)
    assert model.unlabeled_verdict_.n_labeled == 20
    assert model.score(X, truth) > 0.6


def test_responsibilities_to_start_from_do_not_leak_into_the_folds() -> None:
    X, truth = text_like(200, 60, 2, 8, **TEXT)
    y = with_few_labels(truth, 8, 0)
    init = np.eye(2)[truth]
    started, alone = MultinomialNB(**AUTO, init=init).fit(X, y), MultinomialNB(**AUTO, max_iter=200).fit(X, y)
    assert started.unlabeled_verdict_.accuracy_labeled == alone.unlabeled_verdict_.accuracy_labeled
    assert np.isfinite(started.predict_proba(X)).all()


def test_an_alpha_of_zero_leaves_impossible_words_impossible() -> None:
    X, truth = text_like(200, 60, 2, 9, **TEXT)
    model = MultinomialNB(**AUTO, alpha=0.0).fit(X, with_few_labels(truth, 8, 0))
    assert np.isfinite(model.predict_proba(X)).all()


def test_rare_labels_beside_many_do_not_disturb() -> None:
    X, truth = text_like(400, 60, 3, 10, **TEXT)
    y = np.where(np.arange(400) < 300, truth.astype(float), np.nan)
    y[np.flatnonzero(y == 2)[3:]] = np.nan
    model = MultinomialNB(**AUTO).fit(X, y)
    assert model.unlabeled_verdict_.n_labeled == int((~np.isnan(y)).sum())
    assert np.isfinite(model.unlabeled_verdict_.interval).all()


# ---- calibrate=
def test_calibration_can_be_turned_off() -> None:
    X, truth = text_like(300, 80, 3, 11, **TEXT)
    y = with_few_labels(truth, 6, 0)
    model = MultinomialNB(**AUTO, calibrate="none").fit(X, y)
    joint = model.predict_joint_log_proba(X)
    posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), posterior)


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
@pytest.mark.parametrize("case", GENERATIVE, ids=lambda case: case.name)
def test_complete_labels_can_be_calibrated_too(case: Case, kind: str) -> None:
    X, y = case.rows(n_rows=200)
    model = case.make(calibrate=kind, **AUTO).fit(X, y)
    assert model.calibration_.kind == kind
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        model.predict_joint_log_proba(X), case.make(**AUTO).fit(X, y).predict_joint_log_proba(X)
    )
    if kind == "temperature":
        np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
@pytest.mark.parametrize("weight", ["auto", 1.0, 0.0])
def test_few_labels_can_be_calibrated_in_both_ways(kind: str, weight: Any) -> None:
    X, truth = text_like(300, 80, 3, 12, **TEXT)
    model = MultinomialNB(unlabeled_weight=weight, calibrate=kind).fit(X, with_few_labels(truth, 10, 0))
    assert model.calibration_.kind == kind
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(("kind", "weight"), [("isotonic", "auto"), ("isotonic", 1.0), ("temperature", 1.0)])
def test_calibration_that_has_no_rows_to_hold_out_is_refused(kind: str, weight: Any) -> None:
    X, truth = text_like(60, 20, 2, 13)
    with pytest.raises(InputError, match="at least 2 in some class"):
        MultinomialNB(unlabeled_weight=weight, calibrate=kind).fit(X, with_few_labels(truth, 1, 0))


@pytest.mark.parametrize(
    "settings", [{"unlabeled_weight": "always"}, {"unlabeled_weight": -1.0}, {"calibrate": "platt"}]
)
def test_what_is_no_way_to_use_unlabeled_rows_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=str(next(iter(settings)))):
        MultinomialNB(**settings).fit(np.ones((3, 2)), [0.0, 1.0, np.nan])


# ---- while it runs
def test_ctrl_c_during_the_comparison_keeps_em_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    X, truth = text_like(200, 40, 2, 14, **TEXT)
    y = with_few_labels(truth, 6, 0)

    def press(*args: Any, **settings: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(fold_fits.CrossFit, "run", press)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = MultinomialNB(**AUTO).fit(X, y)
    assert model.unlabeled_use_ == "full"
    assert model.calibration_ is None
    assert "Interrupted" in str(model.unlabeled_verdict_)
    assert model.score(X, truth) > 0.6


def test_ctrl_c_while_calibrating_keeps_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, truth = text_like(100, 40, 2, 15)

    def press(*args: Any, **settings: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(fold_fits.CrossFit, "run", press)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = MultinomialNB(calibrate="temperature").fit(X, truth)
    assert model.calibration_ is None


def test_verbose_tells_of_iterations_and_folds(capsys: pytest.CaptureFixture[str]) -> None:
    X, truth = text_like(100, 40, 2, 16)
    MultinomialNB(**AUTO, verbose=1).fit(X, with_few_labels(truth, 5, 0))
    told = capsys.readouterr().err
    assert "[MultinomialNB] iteration    1" in told
    assert "[MultinomialNB] cross-validation, a first look at folds 1 to 5 of 10" in told
    MultinomialNB(**AUTO).fit(X, with_few_labels(truth, 5, 0))
    assert capsys.readouterr().err == ""


def test_no_iteration_at_all_is_not_said_to_have_gained_anything() -> None:
    X, truth = text_like(100, 40, 2, 17)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=0 iterations before it converged\. Raise"):
        MultinomialNB(unlabeled_weight=1.0, max_iter=0).fit(X, with_few_labels(truth, 5, 0))
