"""Ctrl-C: a fit gives what it has, or leaves the estimator as it was; a checkpoint says how to go on."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import softcount
from softcount._errors import ConvergenceWarning, InputError
from softcount.core.mixture import MixtureModel
from studies.checkpoints.jobs import bits_of

X = np.random.default_rng(0).normal(size=(300, 2))
y = np.array(["a", "b"], dtype=object)[(X[:, 0] > 0).astype(int)]
some = np.where(np.arange(300) % 3 == 0, y, None)

ESTIMATORS = [
    softcount.GaussianMixture(2, random_state=0),
    softcount.LatentClass(2, random_state=0, families="gaussian"),
    softcount.GaussianNB(),
    softcount.GaussianDiscriminant(unlabeled_weight=1.0),
    softcount.LogisticRegression(),
    softcount.GLM("binomial"),
]


def interrupt(*_, **__):
    raise KeyboardInterrupt


def fitted(estimator, rows, labels):
    if isinstance(estimator, softcount.GLM):
        return estimator.fit(rows, (y == "b").astype(int))
    if isinstance(estimator, softcount.LogisticRegression):
        return estimator.fit(rows, y)
    return estimator.fit(rows, labels)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_fit_that_raises_leaves_the_estimator_as_it_was(monkeypatch, estimator):
    labels = None if "Mixture" in type(estimator).__name__ or "Latent" in type(estimator).__name__ else some
    fitted(estimator, X, labels)
    before = dict(vars(estimator))
    wide = np.column_stack([X, X[:, 0] ** 2])
    with monkeypatch.context() as patch:
        # As late as can be: everything has been learned.
        patch.setattr(type(estimator), "_keep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fitted(estimator, wide, labels)
    assert vars(estimator) == before


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_refused_fit_leaves_no_trace_on_a_new_estimator(estimator):
    from sklearn.base import clone

    fresh = clone(estimator)
    before = dict(vars(fresh))
    with pytest.raises(InputError):
        fitted(fresh, np.full((300, 2), np.inf), some)
    assert vars(fresh) == before


def test_ctrl_c_keeps_the_last_iteration_and_says_how_to_go_on(monkeypatch, tmp_path):
    def job():
        return softcount.GaussianMixture(3, tol=0.0, max_iter=30, random_state=0).fit(X)

    expected = bits_of(job())
    passes = 0
    tally = MixtureModel.tally

    def interrupted(self, params, chunks):
        nonlocal passes
        passes += 1
        if passes == 9:
            raise KeyboardInterrupt
        return tally(self, params, chunks)

    with monkeypatch.context() as patch:
        patch.setattr(MixtureModel, "tally", interrupted)
        with (
            softcount.checkpoints(tmp_path, seconds=1e6),
            pytest.warns(ConvergenceWarning, match=r"interrupted.*resume=True"),
        ):
            stopped = job()
    assert stopped.n_iter_ == 7
    passes = -1000
    with softcount.checkpoints(tmp_path, resume=True):
        assert bits_of(job()) == expected


def test_ctrl_c_among_many_starts_ends_all_of_them(monkeypatch):
    passes = []
    tally = MixtureModel.tally

    def interrupted(self, params, chunks):
        passes.append(1)
        # Each of the starts has been counted under a few times by then.
        if len(passes) == 90:
            raise KeyboardInterrupt
        return tally(self, params, chunks)

    monkeypatch.setattr(MixtureModel, "tally", interrupted)
    mixture = softcount.BernoulliMixture(3, n_init=20, n_jobs=1, tol=0.0, max_iter=500, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        mixture.fit(np.random.default_rng(1).integers(0, 2, size=(300, 8)))
    # Short runs that had ended are not run to their ends.
    assert len(passes) < 130


@pytest.mark.skipif(os.name != "posix", reason="needs SIGTERM as batch systems send it")
def test_an_exit_writes_the_last_iteration(tmp_path):
    script = textwrap.dedent(
        """
        import signal, sys
        import numpy as np
        import softcount
        from softcount.core.mixture import MixtureModel
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        X = np.random.default_rng(0).normal(size=(300, 2))
        passes = []
        tally = MixtureModel.tally
        def counted(self, params, chunks):
            passes.append(1)
            if len(passes) == 9:
                signal.raise_signal(signal.SIGTERM)
            return tally(self, params, chunks)
        MixtureModel.tally = counted
        with softcount.checkpoints(sys.argv[1], seconds=1e6):
            softcount.GaussianMixture(3, tol=0.0, max_iter=30, random_state=0).fit(X)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, timeout=120)
    assert done.returncode == 128 + signal.SIGTERM
    passes = []
    tally = MixtureModel.tally

    def counted(self, params, chunks):
        passes.append(1)
        return tally(self, params, chunks)

    with pytest.MonkeyPatch.context() as patch, softcount.checkpoints(tmp_path, resume=True):
        patch.setattr(MixtureModel, "tally", counted)
        model = softcount.GaussianMixture(3, tol=0.0, max_iter=30, random_state=0).fit(X)
    assert model.n_iter_ == 30
    assert len(passes) <= 25
