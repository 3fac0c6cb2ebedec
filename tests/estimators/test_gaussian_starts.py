"""Where Gaussian mixtures start: k-means, with as many threads as there is work for."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import ThreadpoolController, threadpool_limits

from softcount import GaussianMixture
from softcount.estimators import _gaussian_starts


def openmp_threads():
    return max((part["num_threads"] for part in ThreadpoolController().select(user_api="openmp").info()), default=1)


@pytest.mark.parametrize(("n_rows", "n_jobs", "expected"), [(500, 2, 1), (200_000, 1, 1), (200_000, 2, 3)])
def test_k_means_has_one_thread_for_one_chunk_or_one_job_and_otherwise_those_it_is_given(
    monkeypatch, n_rows, n_jobs, expected
):
    seen = []

    class Watched(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(openmp_threads())
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(_gaussian_starts, "KMeans", Watched)
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    with threadpool_limits(limits=3, user_api="openmp"):
        if openmp_threads() != 3:
            pytest.skip("scikit-learn was built without OpenMP")
        GaussianMixture(2, max_iter=1, tol=0.0, random_state=0, n_jobs=n_jobs).fit(X)
        assert openmp_threads() == 3
    assert seen == [expected]
