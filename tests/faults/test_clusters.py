"""What a cluster loses in the middle of a fit costs time and no digit."""

import os
import signal
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

import softcount
from softcount.core.cluster_loss import asked, gathered, persistently
from softcount.core.mixture import MixtureModel
from studies.checkpoints.machines import Machines

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::softcount._errors.ConvergenceWarning")
#: Equal rows are not taken together: there are few different ones, and they would be fetched.
SETTINGS = {"n_init": 1, "max_iter": 12, "tol": 0.0, "random_state": 0, "merge_rows": False}


def make_rows():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 6000)
    return (rng.random((6000, 8)) < np.array([0.2, 0.5, 0.8])[z, None]).astype(np.uint8)


@pytest.fixture
def rows():
    return make_rows()


def on_dask(rows):
    import dask.array as da

    return da.from_array(rows, chunks=(1500, -1))


def bits(model):
    return model.weights_.tobytes() + model.probabilities_.tobytes()


def breaking(monkeypatch, iteration, do):
    """Do something once before the counts of an iteration are solved."""
    solve, calls = MixtureModel.solve, []

    def solved(self, *args):
        calls.append(1)
        if len(calls) == iteration:
            do()
        return solve(self, *args)

    monkeypatch.setattr(MixtureModel, "solve", solved)
    return calls


def test_a_worker_killed_in_the_middle_of_a_fit_changes_no_digit(rows, monkeypatch):
    from distributed import Client, LocalCluster

    alone = softcount.BernoulliMixture(3, **SETTINGS).fit(rows)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as machines,
        Client(machines, set_as_default=False) as client,
        client.as_current(),
    ):
        pids = list(client.run(os.getpid).values())
        calls = breaking(monkeypatch, 6, lambda: os.kill(pids[0], signal.SIGKILL))
        model = softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(rows))
    assert len(calls) >= 12
    assert bits(model) == bits(alone)


def test_a_scheduler_killed_in_the_middle_of_a_fit_is_told_and_the_fit_goes_on_with_another(
    rows, monkeypatch, tmp_path, cluster_client
):
    from distributed import Client

    alone = softcount.BernoulliMixture(3, **SETTINGS).fit(rows)
    with Machines(1) as machines:
        client = Client(machines.address, set_as_default=False)
        with monkeypatch.context() as patch, client.as_current(), softcount.checkpoints(tmp_path, seconds=0.0):
            breaking(patch, 6, machines.scheduler.kill)
            with pytest.raises(ConnectionError, match=r"cluster was lost .* checkpoints\(folder, resume=True\)"):
                softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(rows))
        client.close()
    with monkeypatch.context() as patch, cluster_client.as_current(), softcount.checkpoints(tmp_path, resume=True):
        calls = breaking(patch, 0, None)
        model = softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(rows))
    assert bits(model) == bits(alone)
    assert len(model.history_) == 13
    assert len(calls) < 12


def test_a_killed_process_that_had_rows_on_a_cluster_is_gone_on_with(rows, tmp_path, cluster_client):
    alone = softcount.BernoulliMixture(3, **SETTINGS).fit(rows)
    job = f"""
        import os, signal
        from distributed import Client
        from tests.faults.test_clusters import SETTINGS, MixtureModel, breaking, make_rows, on_dask, pytest, softcount

        with pytest.MonkeyPatch.context() as patch, Client({cluster_client.scheduler.address!r}):
            with softcount.checkpoints({str(tmp_path)!r}, seconds=0.0):
                breaking(patch, 6, lambda: os.kill(os.getpid(), signal.SIGKILL))
                softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(make_rows()))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(job)], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with cluster_client.as_current(), softcount.checkpoints(tmp_path, resume=True):
        model = softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(rows))
    assert bits(model) == bits(alone)


def test_tasks_sent_after_the_scheduler_was_lost_are_not_waited_for():
    with pytest.raises(ConnectionError, match="connecting"):
        gathered(SimpleNamespace(status="connecting"), [])


def test_a_question_to_a_scheduler_that_is_gone_is_not_waited_for():
    from threading import Event

    never, client = Event(), SimpleNamespace(status="running")

    def question():
        client.status = "connecting"
        never.wait()

    with pytest.raises(ConnectionError, match=r"cluster was lost .*connecting"):
        persistently(lambda: asked(client, question), client)
    client.status = "running"
    assert asked(client, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        asked(client, lambda: 1 / 0)
    never.set()
