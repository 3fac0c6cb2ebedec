"""Kernels release the GIL, and give the same bits from several threads as from one."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.kernels.conftest import native_extension
from tests.kernels.data import sparse_chunk


def work(kernels):
    """One call of every kernel on the same data: a list of functions that return arrays."""
    rng = np.random.default_rng(0)
    n, d, k = 300, 40, 7
    counts = rng.poisson(0.5, size=(n, d)).astype(np.uint8)
    chunk = sparse_chunk(counts)
    reals = rng.normal(size=(n, d))
    reals[rng.random(reals.shape) < 0.01] = np.nan
    whole, table, resp = np.nan_to_num(reals), rng.normal(size=(d, k)), rng.dirichlet(np.ones(k), size=n)
    codes, offsets = counts.clip(max=3), np.arange(d + 1) * 4
    classes, factors = rng.integers(-1, k, size=n).astype(np.int32), np.triu(rng.normal(size=(k, d, d)))
    signs = rng.choice([-1.0, 1.0], size=n)
    index = kernels.csr_word_index(*chunk, d)

    def adding(function, *shapes, leading):
        def call():
            outs = [np.zeros(shape) for shape in shapes]
            function(*leading, *outs)
            return outs

        return call

    def normalizing():
        scores = np.log(resp) * 3
        return [scores, np.array(kernels.normalize_rows(scores, None, np.log(resp[0]), None))]

    moments, full = [(d, k)] * 3, [(k,), (k, d), (k, d, d)]
    return [
        adding(kernels.csr_scores, (n, k), leading=(*chunk, table)),
        adding(kernels.csr_accumulate, (d, k), leading=(*chunk, resp)),
        adding(kernels.csr_accumulate_words, (d, k), leading=(index, resp)),
        adding(kernels.csr_class_counts, (k, d), leading=(*chunk, classes, None)),
        adding(kernels.codes_scores, (n, k), leading=(codes, offsets, rng.normal(size=(4 * d, k)))),
        adding(kernels.codes_accumulate, (4 * d, k), leading=(codes, offsets, resp)),
        adding(
            kernels.codes_pass,
            *((4 * d, 2 * k), (2 * k,), (2,)),
            leading=(codes, offsets, -rng.exponential(size=(4 * d, 2 * k)), np.full(2 * k, -np.log(k)), None),
        ),
        adding(kernels.dense_scores, (n, k), leading=(counts, table)),
        adding(kernels.dense_accumulate, (d, k), leading=(counts, resp)),
        adding(kernels.dense_class_counts, (d, k), leading=(counts, classes, None)),
        adding(kernels.gaussian_scores, (n, k), leading=(reals, table, table**2 + 0.1)),
        adding(kernels.gaussian_moments, *moments, leading=(reals, resp, table)),
        adding(kernels.gaussian_class_moments, *moments, leading=(reals, classes, None, table)),
        adding(kernels.gaussian_full_scores, (n, k), leading=(whole, table.T.copy(), factors, np.zeros(k))),
        adding(kernels.gaussian_full_moments, *full, leading=(whole, resp, table.T.copy())),
        adding(kernels.logistic_score, (d + 1,), (1,), leading=(whole, rng.normal(size=d + 1), None, signs, None)),
        normalizing,
    ]


def test_four_threads_give_the_bits_of_one(kernels):
    calls = work(kernels)
    alone = [[out.tobytes() for out in call()] for call in calls]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            together = list(pool.map(lambda call: [out.tobytes() for out in call()], calls * 2))
            assert together == alone * 2


@pytest.mark.parametrize("call", range(17))
def test_repeating_a_call_repeats_its_bits(kernels, call):
    function = work(kernels)[call]
    assert [out.tobytes() for out in function()] == [out.tobytes() for out in function()]


def test_other_threads_run_while_a_kernel_does():
    native_extension()
    from softcount.kernels import native

    X, means, factors = np.ones((500, 150)), np.zeros((20, 150)), np.zeros((20, 150, 150))
    log_det, out, span = np.zeros(20), np.zeros((500, 20)), []

    def one_long_call():
        begin = time.perf_counter()
        native.gaussian_full_scores(X, means, factors, log_det, out)
        span.extend([begin, time.perf_counter()])

    thread = threading.Thread(target=one_long_call)
    thread.start()
    turns = []
    while not span:
        turns.append(time.perf_counter())
    thread.join()
    begin, end = span
    margin = (end - begin) / 4
    assert any(begin + margin < turn < end - margin for turn in turns)
