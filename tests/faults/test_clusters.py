"""What a cluster loses in the middle of a fit costs time and no digit."""

import os
import signal

import numpy as np
import pytest

import softcount
from softcount.core.mixture import MixtureModel

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::softcount._errors.ConvergenceWarning")
#: Equal rows are not taken together: there are few different ones, and they would be fetched.
SETTINGS = {"n_init": 1, "max_iter": 12, "tol": 0.0, "random_state": 0, "merge_rows": False}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 6000)
    return (rng.random((6000, 8)) < np.array([0.2, 0.5, 0.8])[z, None]).astype(np.uint8)


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
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as machines,
        Client(machines, set_as_default=False) as client,
        client.as_current(),
    ):
        pids = list(client.run(os.getpid).values())
        calls = breaking(monkeypatch, 6, lambda: os.kill(pids[0], signal.SIGKILL))
        model = softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(rows))
    assert len(calls) >= 12
    assert bits(model) == bits(alone)


def test_a_fit_that_lost_its_cluster_goes_on_with_another_to_the_same_bits(rows, monkeypatch, tmp_path, cluster_client):
    from distributed import Client

    alone = softcount.BernoulliMixture(3, **SETTINGS).fit(rows)
    client = Client(cluster_client.scheduler.address, set_as_default=False)
    with monkeypatch.context() as patch, client.as_current(), softcount.checkpoints(tmp_path, seconds=0.0):
        breaking(patch, 6, client.close)
        with pytest.raises(ConnectionError, match="can be taken up where it was"):
            softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(rows))
    with cluster_client.as_current(), softcount.checkpoints(tmp_path, resume=True):
        model = softcount.BernoulliMixture(3, **SETTINGS).fit(on_dask(rows))
    assert bits(model) == bits(alone)
    assert len(model.history_) == 13
