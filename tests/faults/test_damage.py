"""Checkpoints that are damaged, of another fit, or that cannot be written."""

import errno
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import softcount
from softcount._errors import InputError
from softcount.estimators.table import TableClassifier
from softcount.inputs.raw_table import RawTable
from softcount.persist import checkpoints as module
from softcount.persist.container import read_container, write_container
from studies.checkpoints.jobs import JOBS, bits_of

X = np.random.default_rng(0).normal(size=(200, 2))


def job(**params):
    chosen = {"n_components": 2, "tol": 0.0, "max_iter": 12, "random_state": 0, **params}
    return softcount.GaussianMixture(**chosen).fit(X)


def files_in(folder):
    return sorted(folder.glob("fit-0000/*.checkpoint"))


@pytest.fixture
def written(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "GENERATIONS", 100)
        with softcount.checkpoints(tmp_path, seconds=0.0):
            job()
    return tmp_path


def again(folder, **params):
    with softcount.checkpoints(folder, resume=True, seconds=0.0):
        return job(**params)


def flip(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 0x10
    path.write_bytes(bytes(content))


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flip, cut, empty])
def test_a_damaged_checkpoint_is_left_out_and_the_one_before_it_serves(written, damage):
    expected = bits_of(job())
    for path in files_in(written)[-3:]:
        damage(path)
    with pytest.warns(UserWarning, match="damaged"):
        model = again(written)
    assert bits_of(model) == expected


def test_a_fit_whose_checkpoints_are_all_damaged_begins_anew(written):
    for path in files_in(written):
        flip(path)
    with pytest.warns(UserWarning, match="damaged"):
        assert bits_of(again(written)) == bits_of(job())


def test_a_checkpoint_of_another_version_is_refused(written, monkeypatch):
    monkeypatch.setattr(softcount, "__version__", "99.0.0")
    with pytest.raises(InputError, match=r"written by softcount .*, and this is 99\.0\.0"):
        again(written)


def test_a_checkpoint_of_a_later_format_is_refused(written):
    path = files_in(written)[-1]
    document, arrays = read_container(path)
    document["content"]["format"] = 7
    document["sha256"] = module._checksum(document["content"], arrays)
    write_container(path, document, arrays)
    with pytest.raises(InputError, match="only the version that began a fit"):
        again(written)


def test_a_checkpoint_of_other_parameters_is_refused_and_they_are_named(written):
    with pytest.raises(InputError, match=r"n_components=2 \(now 3\)"):
        again(written, n_components=3)


def test_the_number_of_threads_may_differ(written):
    assert bits_of(again(written, n_jobs=2)) == bits_of(job())


def test_a_checkpoint_of_another_estimator_is_refused(written):
    with (
        pytest.raises(InputError, match="fits a GaussianMixture, and this is a LatentClass"),
        softcount.checkpoints(written, resume=True),
    ):
        JOBS["latent_class"]()


@pytest.mark.parametrize("change", [lambda X: X[:-1], lambda X: X + 1e-9, lambda X: X.astype(np.float32)])
def test_a_checkpoint_of_other_data_is_refused(written, change):
    with pytest.raises(InputError, match="other data"), softcount.checkpoints(written, resume=True):
        softcount.GaussianMixture(2, tol=0.0, max_iter=12, random_state=0).fit(change(X))


@pytest.mark.parametrize("estimator", [softcount.LogisticRegression(), softcount.GLM("binomial")])
def test_linear_models_refuse_other_data_as_well(tmp_path, estimator):
    y = (X[:, 0] > 0.1 * X[:, 1]).astype(int)
    y[::9] = 1 - y[::9]
    with softcount.checkpoints(tmp_path, seconds=0.0):
        estimator.fit(X, y)
    with pytest.raises(InputError, match="other data"), softcount.checkpoints(tmp_path, resume=True):
        estimator.fit(X, 1 - y)


def some_labels(n_rows):
    return [None if row % 5 else "ab"[row // 5 % 2] for row in range(n_rows)]


def numbers(seed):
    return np.random.default_rng(seed).normal(size=(200, 2))


def texts(seed):
    rng = np.random.default_rng(seed)
    return {"text": [" ".join(rng.choice(["red", "blue", "green", "sky", "sea"], 6)) for _ in range(200)]}


def texts_elsewhere(seed):
    table = RawTable(texts(seed), range(200))
    return lambda: iter([(table, np.array(["a", "b"] * 100, dtype=object))])


@pytest.mark.parametrize(
    ("estimator", "rows", "y"),
    [
        (softcount.GaussianNB(), numbers, some_labels(200)),
        (softcount.GaussianNB(unlabeled_weight=0.0, calibrate="isotonic"), numbers, some_labels(200)),
        (TableClassifier(), texts, some_labels(200)),
        (TableClassifier(unlabeled_weight=0.0), texts, ["a", "b"] * 100),
        (TableClassifier(unlabeled_weight=0.0), texts_elsewhere, None),
    ],
)
def test_what_folds_of_other_data_came_to_is_not_taken_for_their_own(tmp_path, estimator, rows, y):
    given = (lambda seed: (rows(seed), y)) if y is not None else (lambda seed: (rows(seed),))
    with softcount.checkpoints(tmp_path, seconds=0.0):
        estimator.fit(*given(0))
    with softcount.checkpoints(tmp_path, resume=True):
        estimator.fit(*given(0))
    with pytest.raises(InputError, match="other data"), softcount.checkpoints(tmp_path, resume=True):
        estimator.fit(*given(1))


def test_no_file_holds_anything_that_could_be_run(written):
    for path in files_in(written):
        content = path.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        assert "sha256" in header["__metadata__"]["softcount"]
        assert b"cpickle" not in content.lower()
        assert not content.startswith(b"\x80")


def test_a_full_disk_is_told_once_and_the_fit_goes_on(tmp_path, monkeypatch):
    calls = []

    def full(path, tree, arrays):
        calls.append(path)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "write_container", full)
    with pytest.warns(UserWarning, match="No space left") as told, softcount.checkpoints(tmp_path, seconds=0.0):
        model = job()
    assert len(calls) > 5
    assert sum("No checkpoint" in str(one.message) for one in told) == 1
    assert bits_of(model) == bits_of(job())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits on the size of files")
def test_a_disk_that_fills_up_while_writing_leaves_no_half_file(tmp_path):
    # The limit on file sizes fails in the middle of writing, as a full disk does.
    script = textwrap.dedent(
        """
        import resource, signal, sys, warnings
        import numpy as np
        import softcount
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        X = np.random.default_rng(0).normal(size=(300, 40))
        with warnings.catch_warnings(record=True) as caught, softcount.checkpoints(sys.argv[1], seconds=0.0):
            warnings.simplefilter("always")
            resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
            softcount.GaussianMixture(2, tol=0.0, max_iter=3, random_state=0).fit(X)
        print([str(w.message) for w in caught])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert "No checkpoint could be written" in done.stdout
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert not [name for name in left if name.endswith(".part")]
    for path in files_in(tmp_path):
        read_container(path)


def test_two_processes_do_not_write_to_one_folder(tmp_path):
    script = "import softcount, sys\nwith softcount.checkpoints(sys.argv[1]):\n    pass"
    with softcount.checkpoints(tmp_path):
        second = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False, timeout=120
        )
    assert second.returncode == 1
    assert f"in use by process {os.getpid()}" in second.stderr
    with softcount.checkpoints(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(tmp_path):
    place = tmp_path / "file"
    place.write_text("no folder")
    with (
        pytest.raises(InputError, match="is a file, but checkpoints are kept in a folder"),
        softcount.checkpoints(place),
    ):
        raise AssertionError
