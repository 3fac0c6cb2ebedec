"""Every estimator answers the same after a round trip through a model file, bit for bit."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softcount
from softcount import priors
from softcount._errors import InputError
from softcount.estimators.table import TableClassifier, TextOptions

RNG = np.random.default_rng(0)
N = 60
NUMBERS = RNG.normal(size=(N, 3))
COUNTS = RNG.poisson(2.0, (N, 4))
BITS = (COUNTS > 1).astype(np.int64)
CLASSES = np.array(["a", "b"])[(NUMBERS[:, 0] > 0).astype(int)]
SOME = np.array([label if i % 3 else None for i, label in enumerate(CLASSES)], dtype=object)
TARGET = NUMBERS @ [1.0, 2.0, 3.0] + RNG.normal(size=N)
TABLE = {
    "text": [f"word{i % 7} and word{i % 11} of {i % 3}" for i in range(N)],
    "color": ["red", "blue", ""] * (N // 3),
    "size": [f"{x:.3f}" for x in NUMBERS[:, 0]],
}

CASES: dict[str, tuple[Any, Any, Any]] = {
    "BernoulliNB": (softcount.BernoulliNB(), BITS, SOME),
    "BernoulliNB under a beta prior": (softcount.BernoulliNB(feature_prior=priors.Beta(2.0, 3.0)), BITS, CLASSES),
    "MultinomialNB": (softcount.MultinomialNB(), COUNTS, SOME),
    "MultinomialNB under a Dirichlet prior": (
        softcount.MultinomialNB(feature_prior=priors.Dirichlet(np.array([1.5, 2.0, 1.0, 3.0]))),
        COUNTS,
        CLASSES,
    ),
    "ComplementNB": (softcount.ComplementNB(), COUNTS, CLASSES),
    "CategoricalNB": (softcount.CategoricalNB(), BITS, CLASSES),
    "PoissonNB under a gamma prior": (softcount.PoissonNB(feature_prior=priors.Gamma(2.0, 2.0)), COUNTS, SOME),
    "GaussianNB": (softcount.GaussianNB(calibrate="isotonic"), NUMBERS, SOME),
    "GaussianNB under a normal-inverse-gamma prior": (
        softcount.GaussianNB(feature_prior=priors.NormalInverseGamma(0.0, 1.0, 2.0, 2.0)),
        NUMBERS,
        CLASSES,
    ),
    "NaiveBayes": (softcount.NaiveBayes(), NUMBERS, SOME),
    "NaiveBayes with priors by family": (
        softcount.NaiveBayes(feature_prior={"gaussian": priors.NormalInverseGamma(0.0, 1.0, 2.0, 2.0)}),
        NUMBERS,
        CLASSES,
    ),
    "GaussianDiscriminant": (softcount.GaussianDiscriminant(), NUMBERS, CLASSES),
    "GaussianDiscriminant with shrinkage": (softcount.GaussianDiscriminant(shrinkage="auto"), NUMBERS, CLASSES),
    "BernoulliMixture": (softcount.BernoulliMixture(n_components=2, random_state=0), BITS, None),
    "MultinomialMixture": (softcount.MultinomialMixture(n_components=2, random_state=0), COUNTS, None),
    "CategoricalMixture": (softcount.CategoricalMixture(n_components=2, random_state=0), BITS, None),
    "PoissonMixture": (softcount.PoissonMixture(n_components=2, random_state=0), COUNTS, None),
    "Mixture": (softcount.Mixture(n_components=2, random_state=0), NUMBERS, None),
    "GaussianMixture": (softcount.GaussianMixture(n_components=2, random_state=0), NUMBERS, None),
    "LatentClass": (softcount.LatentClass(n_components=2, random_state=0), BITS, None),
    "LogisticRegression": (softcount.LogisticRegression(), NUMBERS, CLASSES),
    "BayesianLinearRegression": (softcount.BayesianLinearRegression(), NUMBERS, TARGET),
    "GLM gaussian": (softcount.GLM(family="gaussian"), NUMBERS, TARGET),
    "GLM poisson": (softcount.GLM(family="poisson"), NUMBERS, COUNTS[:, 0]),
    "GLM quasipoisson": (softcount.GLM(family="quasipoisson"), NUMBERS, COUNTS[:, 0]),
    "GLM negative binomial": (softcount.GLM(family="negative_binomial", theta=2.0), NUMBERS, COUNTS[:, 0]),
    "GLM gamma": (softcount.GLM(family="gamma", link="log"), NUMBERS, np.exp(TARGET / 3)),
    "GLM inverse Gaussian": (softcount.GLM(family="inverse_gaussian", link="log"), NUMBERS, np.exp(TARGET / 3)),
    "GLM Tweedie": (softcount.GLM(family="tweedie", power=1.5), NUMBERS, np.exp(TARGET / 3)),
    "GLM binomial": (softcount.GLM(family="binomial", link="probit", alpha=0.1), NUMBERS, BITS[:, 0]),
    "table": (TableClassifier(), TABLE, CLASSES),
    "table of hashed words": (TableClassifier(text=TextOptions(n_hashed=64)), TABLE, SOME),
    "table of character runs": (TableClassifier(text=TextOptions(None, (1, 3)), calibrate="isotonic"), TABLE, SOME),
}


@pytest.mark.parametrize("name", CASES)
def test_answers_are_the_same_after_a_round_trip(name: str, tmp_path: Path) -> None:
    estimator, X, y = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
    path = tmp_path / "model.softcount"
    estimator.save(path)
    loaded = softcount.load(path)
    assert type(loaded) is type(estimator)
    for method in ("predict", "predict_proba"):
        if hasattr(estimator, method):
            assert np.array_equal(getattr(loaded, method)(X), getattr(estimator, method)(X))
    parameters = {k: v for k, v in estimator.get_params(deep=False).items() if isinstance(v, (str, int, bool))}
    assert {k: loaded.get_params(deep=False)[k] for k in parameters} == parameters


def test_a_loaded_model_can_be_saved_again_to_the_same_bytes(tmp_path: Path) -> None:
    model = TableClassifier().fit(TABLE, SOME)
    model.save(tmp_path / "a")
    softcount.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_unfitted_estimator_is_not_saved(tmp_path: Path) -> None:
    from sklearn.exceptions import NotFittedError

    for make in (
        softcount.GLM,
        softcount.BernoulliNB,
        softcount.LogisticRegression,
        softcount.BayesianLinearRegression,
    ):
        with pytest.raises(NotFittedError):
            make().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_a_file_cannot_keep_is_named(tmp_path: Path) -> None:
    class Odd:
        pass

    model = softcount.BernoulliNB().fit(BITS, CLASSES)
    model.odd_ = Odd()
    with pytest.raises(InputError, match="Odd"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    path = tmp_path / "m.softcount"
    softcount.BernoulliNB().fit(BITS, CLASSES).save(path)
    before = path.read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        softcount.BernoulliNB(alpha=2.0).fit(BITS, CLASSES).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
