"""Settings for the whole suite: one BLAS thread, hypothesis profiles, and where real data lies."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# BLAS reads these when NumPy is first imported. The suite runs in several processes; were each
# of them to start a thread per core, they would only wait for one another.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# A busy machine generates examples slowly; that says nothing about the code under test.
settings.register_profile(
    "ci", max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("nightly", max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with the real data sets, which are never part of the repository."""
    asked_for = os.environ.get("SOFTCOUNT_DATA")
    folder = Path(asked_for) if asked_for else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not a folder (SOFTCOUNT_DATA names another one)")
    return folder


@pytest.fixture(scope="session")
def cluster_client():
    """A client of two worker processes that all tests of a run share; not the one that is used by default."""
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def two_workers(cluster_client):
    """The same client, in use for the length of a test."""
    with cluster_client.as_current():
        yield cluster_client
