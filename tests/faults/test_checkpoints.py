"""A fit that ended at any moment and is begun again ends with the bits of one that was never interrupted."""

import warnings

import numpy as np
import pytest

import softcount
from softcount._errors import InputError
from softcount.core.journal import FITTING
from softcount.persist import checkpoints as module
from softcount.persist.container import write_container
from studies.checkpoints.jobs import JOBS, bits_of


class Killed(BaseException):
    """What nothing catches."""


@pytest.fixture(autouse=True)
def _without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def killed_at(monkeypatch, job, folder, number, fit="fit-0000"):
    """Run a job until the write of that number of a fit, or to the end; how often was written."""
    written = 0

    def counted(path, document, arrays):
        nonlocal written
        write_container(path, document, arrays)
        written += path.parent.name == fit
        if written == number:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_container", counted)
        try:
            with softcount.checkpoints(folder, seconds=0.0):
                model = job()
        except Killed:
            return None, written
    return model, written


def taken_up(job, folder):
    with softcount.checkpoints(folder, seconds=0.0, resume=True):
        return job()


@pytest.mark.parametrize("name", JOBS)
def test_a_fit_ended_at_any_moment_and_taken_up_gives_the_bits_of_one_that_was_not(monkeypatch, tmp_path, name):
    job = JOBS[name]
    expected = bits_of(job())
    model, n_writes = killed_at(monkeypatch, job, tmp_path / "whole", 0)
    assert bits_of(model) == expected
    # How often threads that run beside each other write differs from time to time.
    for number in sorted({max(1, n_writes // 4), 2 * n_writes // 3}):
        folder = tmp_path / str(number)
        model, _ = killed_at(monkeypatch, job, folder, number)
        assert model is None or number > n_writes // 2
        assert bits_of(taken_up(job, folder)) == expected


def test_a_fit_is_taken_up_where_it_was_and_not_begun_again(monkeypatch, tmp_path):
    from softcount.core.mixture import MixtureModel

    passes = []
    tally = MixtureModel.tally

    def counted(self, params, chunks):
        passes.append(1)
        return tally(self, params, chunks)

    def job():
        X = np.random.default_rng(0).normal(size=(500, 2))
        return softcount.GaussianMixture(2, n_init=2, random_state=2, tol=1e-5, n_jobs=1).fit(X)

    monkeypatch.setattr(MixtureModel, "tally", counted)
    job()
    whole = len(passes)
    _, n_writes = killed_at(monkeypatch, job, tmp_path / "all", 0)
    assert killed_at(monkeypatch, job, tmp_path / "most", n_writes - 4)[0] is None
    passes.clear()
    taken_up(job, tmp_path / "most")
    assert 0 < len(passes) < whole / 2


def test_a_finished_fit_is_answered_from_the_folder(monkeypatch, tmp_path):
    from softcount.core.mixture import MixtureModel

    job = JOBS["latent_class"]
    with softcount.checkpoints(tmp_path):
        expected = bits_of(job())

    def refuse(*_):
        raise AssertionError("a pass over the rows")

    monkeypatch.setattr(MixtureModel, "tally", refuse)
    assert bits_of(taken_up(job, tmp_path)) == expected


def test_a_fit_taken_up_with_other_threads_gives_the_same_bits(monkeypatch, tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 2))

    def job(n_jobs):
        return softcount.GaussianMixture(2, n_init=3, random_state=2, tol=1e-5, n_jobs=n_jobs).fit(X)

    expected = bits_of(job(1))
    killed_at(monkeypatch, lambda: job(2), tmp_path, 9)
    assert bits_of(taken_up(lambda: job(1), tmp_path)) == expected


def test_several_fits_in_one_block_are_taken_up_in_their_order(monkeypatch, tmp_path):
    def both():
        return JOBS["latent_class"](), JOBS["logistic_quasi_newton"]()

    expected = [bits_of(model) for model in both()]
    models, _ = killed_at(monkeypatch, both, tmp_path, 7, fit="fit-0001")
    assert models is None
    assert sorted(child.name for child in tmp_path.glob("fit-*")) == ["fit-0000", "fit-0001"]
    assert [bits_of(model) for model in taken_up(both, tmp_path)] == expected


def test_an_unseeded_fit_keeps_its_seed(monkeypatch, tmp_path):
    answers = np.random.default_rng(3).integers(0, 3, size=(200, 4))

    def job():
        return softcount.CategoricalMixture(3, n_init=3, max_iter=30, n_jobs=1).fit(answers)

    killed_at(monkeypatch, job, tmp_path, 5)
    once = taken_up(job, tmp_path)
    again = taken_up(job, tmp_path)
    assert bits_of(once) == bits_of(again)


def test_a_fit_inside_a_pipeline_takes_part(tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).normal(size=(100, 2))
    with softcount.checkpoints(tmp_path):
        make_pipeline(StandardScaler(), softcount.GaussianMixture(2, random_state=0)).fit(X)
    assert list(tmp_path.glob("fit-0000/*.checkpoint"))


def test_a_folder_with_checkpoints_is_not_begun_in_by_mistake(tmp_path):
    with softcount.checkpoints(tmp_path):
        JOBS["latent_class"]()
    with pytest.raises(InputError, match="resume=True"), softcount.checkpoints(tmp_path):
        raise AssertionError


def test_an_empty_folder_is_begun_in_with_resume(tmp_path):
    with softcount.checkpoints(tmp_path / "new", resume=True):
        JOBS["latent_class"]()
    assert list((tmp_path / "new").glob("fit-*"))


@pytest.mark.parametrize("wrong", [{"seconds": -1.0}, {"seconds": float("nan")}, {"iterations": 0}])
def test_intervals_that_cannot_be_are_refused(tmp_path, wrong):
    with pytest.raises(InputError, match=next(iter(wrong))), softcount.checkpoints(tmp_path, **wrong):
        raise AssertionError


def test_writing_every_so_many_iterations_writes_that_often(tmp_path, monkeypatch):
    numbers = []

    def noted(path, document, arrays):
        numbers.append(path.name)
        write_container(path, document, arrays)

    monkeypatch.setattr(module, "write_container", noted)
    X = np.random.default_rng(0).normal(size=(200, 2))
    with softcount.checkpoints(tmp_path, seconds=1e6, iterations=5):
        softcount.GaussianMixture(2, tol=0.0, max_iter=20, random_state=0).fit(X)
    # Every five iterations of twenty, the seed, the start and the end beside them, and once more at the end.
    assert 4 <= len(numbers) <= 6


def test_old_checkpoints_are_deleted_but_for_the_last_two(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 2))
    with softcount.checkpoints(tmp_path, seconds=0.0):
        softcount.GaussianMixture(2, tol=0.0, max_iter=40, random_state=0).fit(X)
    assert len(list(tmp_path.glob("fit-0000/*"))) <= 5


def test_files_that_a_killed_process_did_not_finish_are_cleared_away(tmp_path):
    (tmp_path / "fit-0000").mkdir()
    half = tmp_path / "fit-0000" / ".00000003.checkpoint.0123456789abcdef.part"
    half.write_bytes(b"half")
    with softcount.checkpoints(tmp_path, resume=True):
        assert not half.exists()


def test_what_comes_while_a_file_is_written_is_written_next(tmp_path, monkeypatch):
    with softcount.checkpoints(tmp_path, seconds=0.0):
        journal = FITTING.get()(softcount.GaussianMixture(2))
        journal.bind(lambda: "rows")

        def overtaken(path, document, arrays):
            write_container(path, document, arrays)
            monkeypatch.setattr(module, "write_container", write_container)
            journal.keep(lambda: {"iteration": 2}, finished=False)

        monkeypatch.setattr(module, "write_container", overtaken)
        journal.keep(lambda: {"iteration": 1}, finished=False)
    with softcount.checkpoints(tmp_path, resume=True):
        assert FITTING.get()(softcount.GaussianMixture(2)).recall() == {"iteration": 2}
