"""A cluster behind certificates of one's own."""

import shutil
import subprocess

import dask.array as da
import numpy as np
import pytest

import softcount
from softcount.cli.outcomes import UsageError
from softcount.cli.streaming import on_dask

pytest.importorskip("distributed")

CERTIFICATES = """
openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl req -x509 -new -key ca.key -days 2 -out ca.pem -subj /CN=cluster
openssl ecparam -name prime256v1 -genkey -noout -out node.key
openssl req -new -key node.key -out node.csr -subj /CN=node
openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out node.pem
"""


@pytest.fixture
def security(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    from distributed.security import Security

    for line in CERTIFICATES.split("\n")[1:-1]:
        subprocess.run(line.split(), cwd=tmp_path, check=True, capture_output=True)
    ca, cert, key = (str(tmp_path / name) for name in ("ca.pem", "node.pem", "node.key"))
    roles = {f"tls_{role}_{what}": path for role in ("scheduler", "worker", "client") for what, path in
             (("cert", cert), ("key", key))}  # fmt: skip
    return Security(tls_ca_file=ca, require_encryption=True, **roles)


def test_a_cluster_with_certificates_counts_and_is_closed_to_those_without(security):
    from distributed import Client, LocalCluster

    X = np.random.default_rng(0).normal(size=(600, 3))
    y = (X[:, 0] > 0).astype(int)
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, security=security, set_as_default=False) as client,
        client.as_current(),
    ):
        assert client.scheduler.address.startswith("tls://127.0.0.1")
        far = softcount.GaussianNB().fit(da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200))
        with pytest.raises(OSError, match=r"TCP|timed out|Timed out"):
            Client(client.scheduler.address.replace("tls", "tcp"), timeout=0.2, set_as_default=False)
    assert far.theta_.tobytes() == softcount.GaussianNB().fit(X, y).theta_.tobytes()


def test_an_address_that_takes_certificates_asks_for_them():
    with (
        pytest.raises(UsageError, match=r"names no certificates .* distributed.comm.tls"),
        on_dask("tls://127.0.0.1:1"),
    ):
        raise AssertionError
