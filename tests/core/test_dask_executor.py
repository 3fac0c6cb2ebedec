"""A cluster counts rows as one machine does, bit for bit, and goes on when a worker dies."""

import itertools
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from softcount.core import dask_executor
from softcount.core.chunks import Chunk, Chunks
from softcount.core.cluster_rows import aligned, lay_out
from softcount.core.counts import Counts
from softcount.core.dask_executor import DaskExecutor, current_client, lazy_rows, made_there, on_partitions
from softcount.core.execute import ThreadExecutor, merge_tree
from softcount.core.facts import Facts
from softcount.core.sampling import gather
from softcount.core.streamed import Piece
from softcount.families.blocks import DenseBlock, SparseBlock
from softcount.families.statistics import Sums
from softcount.inputs.labels import read_labels

pytest.importorskip("distributed")


@pytest.fixture
def client(cluster_client):
    return cluster_client


def make_chunks(n_rows, rows_per_chunk, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array([None, "a", "b"], dtype=object)[rng.integers(0, 3, n_rows)]
    labels, _ = read_labels(y, n_rows, classes=["a", "b"])
    weight = rng.random(n_rows)
    return Chunks((DenseBlock(rng.normal(size=(n_rows, 3)), False),), labels, weight, rows_per_chunk=rows_per_chunk)


def on_cluster(client, chunks, n_pieces):
    bounds = np.linspace(0, chunks.n_rows, n_pieces + 1).astype(int)
    pieces = [
        client.submit(
            Piece,
            tuple(b.rows(start, stop) for b in chunks.blocks),
            chunks.labels.rows(start, stop),
            chunks.weight[start:stop],
            pure=False,
        )
        for start, stop in itertools.pairwise(bounds)
    ]
    facts = Facts.of(chunks.n_rows, chunks.labels, chunks.weight)
    return lay_out(client, pieces, np.diff(bounds).tolist(), chunks.layout, facts, rows_per_chunk=chunks.rows_per_chunk)


def make_tally(scale=1.0, on_chunk=None):
    """Sums that depend on the order of additions in their last digits."""

    def tally(lane):
        total = np.zeros(3)
        objective = 0.0
        for chunk in lane:
            if on_chunk is not None:
                on_chunk(chunk)
            values = chunk.blocks[0].values
            total += scale * (chunk.weight @ values)
            objective += float(np.exp(values).sum()) + float((chunk.labels.codes >= 0).sum())
        return Counts({"columns": Sums({"sum": total})}, objective)

    return tally


def assert_same_bits(one, other):
    assert one.objective == other.objective
    assert_array_equal(one["columns"]["sum"], other["columns"]["sum"])


@pytest.mark.parametrize("n_pieces", [1, 3, 14])
@pytest.mark.parametrize("n_rows", [5, 64, 777, 5003])
def test_a_cluster_gives_the_bits_of_one_machine_however_its_rows_are_cut(client, n_rows, n_pieces):
    chunks = make_chunks(n_rows, 8)
    rows = on_cluster(client, chunks, min(n_pieces, n_rows))
    assert_same_bits(DaskExecutor(client).reduce(make_tally(), rows), ThreadExecutor(1).reduce(make_tally(), chunks))


def test_rows_of_one_partition_are_spread_over_the_workers(client):
    rows = on_cluster(client, make_chunks(5003, 8), 1)
    client.gather(client.map(lambda group: None, rows.groups))
    held = client.who_has(rows.groups)
    assert {address for addresses in held.values() for address in addresses} == set(client.nthreads())


@pytest.mark.parametrize("n_segments", range(1, 40))
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_merging_groups_of_a_power_of_two_is_part_of_the_one_tree(n_segments, size):
    leaves = [f"{i}." for i in range(n_segments)]

    class Leaf:
        def __init__(self, text):
            self.text = text

        def __add__(self, other):
            return Leaf(f"({self.text}{other.text})")

    whole = merge_tree(Leaf(leaf) for leaf in leaves).text
    groups = [merge_tree(Leaf(leaf) for leaf in leaves[i : i + size]) for i in range(0, n_segments, size)]
    assert merge_tree(groups).text == whole


def test_parameters_too_large_for_every_task_are_sent_once_and_give_the_same(client):
    chunks = make_chunks(500, 8)
    rows = on_cluster(client, chunks, 4)
    large = np.ones(200_000)

    def tally(lane):
        return make_tally(float(large[0]))(lane)

    assert_same_bits(DaskExecutor(client).reduce(tally, rows), ThreadExecutor(1).reduce(tally, chunks))


def test_a_pass_is_one_message_and_lets_the_last_one_go_only_afterwards(client, monkeypatch):
    rows = on_cluster(client, make_chunks(500, 8), 4)
    executor = DaskExecutor(client)
    executor.reduce(make_tally(), rows)
    held = []
    plain_map = client.map

    def noted(task, *given, **settings):
        held.append((len(given[0]), [future.status for future in executor._last]))
        return plain_map(task, *given, **settings)

    monkeypatch.setattr(client, "map", noted)
    executor.reduce(make_tally(), rows)
    assert held == [(len(rows.groups), ["finished"] * len(rows.groups))]


def test_counts_that_are_large_do_not_stay_on_the_cluster(client, monkeypatch):
    monkeypatch.setattr(dask_executor, "KEPT_BYTES", 10)
    executor = DaskExecutor(client)
    executor.reduce(make_tally(), on_cluster(client, make_chunks(500, 8), 4))
    assert executor._last == []


def test_what_is_done_to_chunks_is_done_where_they_lie(client):
    from dataclasses import replace

    chunks = make_chunks(300, 8)
    rows = on_cluster(client, chunks, 4)

    def heavier(chunk):
        return replace(chunk, weight=2.0 * chunk.weight)

    twice = DaskExecutor(client).reduce(make_tally(), rows.mapped(heavier).mapped(heavier))
    doubled = chunks.like(chunks.blocks, chunks.labels, 4.0 * chunks.weight)
    assert_same_bits(twice, ThreadExecutor(1).reduce(make_tally(), doubled))


def test_single_chunks_and_picked_rows_can_be_had(client):
    chunks = make_chunks(700, 8)
    rows = on_cluster(client, chunks, 5)
    for index in (0, 8, 40, len(chunks) - 1):
        assert_array_equal(rows[index].blocks[0].values, chunks[index].blocks[0].values)
    picked = gather(DaskExecutor(client), rows, np.array([600, 3, 77]), None)
    assert_array_equal(picked.blocks[0].values, chunks.blocks[0].values[[600, 3, 77]])


def test_rows_in_memory_are_counted_here(client):
    chunks = make_chunks(300, 8)
    here = os.getpid()

    def tally(lane):
        assert os.getpid() == here
        return make_tally()(lane)

    DaskExecutor(client).reduce(tally, chunks)


def test_sparse_rows_are_sorted_by_column_on_the_workers(client):
    from scipy.sparse import random_array

    X = random_array((4000, 30), density=0.3, rng=0, format="csr")
    X.data[:] = 1.0
    block = SparseBlock(X.indptr.astype(np.int64), X.indices.astype(np.int32), None, 30)
    facts = Facts.of(4000, None, None)
    piece = client.submit(Piece, (block,), None, None)
    rows = lay_out(client, [piece], [4000], (block,), facts, rows_per_chunk=1024)
    assert (rows[1].blocks[0].words is None) == (block.rows(1024, 2048).indexed().words is None)


def test_an_error_in_a_pass_arrives_as_it_is(client):
    chunks = make_chunks(100, 8)
    rows = on_cluster(client, chunks, 2)

    def tally(lane):
        raise ZeroDivisionError("of mine")

    with pytest.raises(ZeroDivisionError, match="of mine"):
        DaskExecutor(client).reduce(tally, rows)


def test_no_rows_of_a_cluster_are_written_to_arrays_here(client):
    rows = on_cluster(client, make_chunks(100, 8), 2)
    with pytest.raises(ValueError, match="lazy answer"):
        DaskExecutor(client).each(lambda chunk: None, rows)


def test_a_worker_that_dies_in_the_middle_of_a_pass_changes_no_digit(tmp_path):
    from distributed import Client, LocalCluster

    marker = tmp_path / "killed"

    def kill_once(chunk):
        import os
        import signal

        if chunk.index == 20 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    chunks = make_chunks(777, 8)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as own,
    ):
        rows = on_cluster(own, chunks, 5)
        executor = DaskExecutor(own)
        before = executor.reduce(make_tally(), rows)
        during = executor.reduce(make_tally(on_chunk=kill_once), rows)
        after = executor.reduce(make_tally(), rows)
    assert marker.exists()
    expected = ThreadExecutor(1).reduce(make_tally(), chunks)
    for found in (before, during, after):
        assert_same_bits(found, expected)


def test_the_cluster_made_when_there_is_none_listens_on_this_machine_alone_and_serves_no_pages():
    import urllib.error
    import urllib.request

    import psutil

    client = current_client()
    info = client.scheduler_info()
    assert len(info["workers"]) >= 1
    processes = [psutil.Process(), *map(psutil.Process, client.run(os.getpid).values())]
    sockets = [s for p in processes for s in p.net_connections("tcp") if s.status == "LISTEN"]
    assert len(sockets) >= 2
    assert {s.laddr.ip for s in sockets} == {"127.0.0.1"}
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{info['services']['dashboard']}/info/main/workers.html")
    assert current_client() is client


def test_the_client_in_use_is_used(client):
    with client.as_current():
        assert current_client() is client


def test_small_answers_of_partitions_come_back_in_order_and_large_ones_stay(client):
    import dask

    partitions = [(dask.delayed(np.arange)(n), None) for n in (3, 0, 5)]

    def length(values, nothing, plus):
        assert nothing is None
        return values.shape[0] + plus

    assert on_partitions(client, length, partitions, 10) == [13, 10, 15]
    futures = made_there(client, length, partitions, 1)
    assert client.gather(futures) == [4, 1, 6]


@pytest.mark.parametrize("sizes", [[3, 0, 5], None])
def test_lazy_answers_are_worked_out_when_they_are_asked_for(client, sizes):
    import dask

    partitions = [(dask.delayed(np.arange)(n),) for n in (3, 0, 5)]

    def double(values, factor):
        return factor * values.astype(float)

    answers = lazy_rows(double, partitions, sizes, np.empty(0), 2.0)
    assert answers.dtype == np.float64
    assert (answers.shape == (8,)) == (sizes is not None)
    with client.as_current():
        assert_array_equal(answers.compute(), [0.0, 2.0, 4.0, 0.0, 2.0, 4.0, 6.0, 8.0])


def test_rows_that_come_out_of_a_network_buffer_begin_where_numbers_may():
    buffer = np.zeros(8 * 30 + 1, dtype=np.uint8)[1:].view(np.float64).reshape(10, 3)
    chunk = Chunk(0, 0, (DenseBlock(buffer),), None, np.ones(10), 10)
    assert not buffer.flags.aligned
    whole = aligned(chunk)
    assert whole.blocks[0].values.flags.aligned
    assert whole.weight is chunk.weight
    assert aligned(whole) is whole
