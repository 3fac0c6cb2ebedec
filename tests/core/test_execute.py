"""The order in which counts are merged depends on the rows alone."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount.core.chunks import Chunk, DistantRows, chunk_rows
from softcount.core.execute import FEW_NUMBERS, ThreadExecutor, for_one_look, merge_tree, tally_segment
from softcount.core.facts import Facts
from softcount.families.blocks import DenseBlock


class Read(DistantRows):
    """Numbers that are read one chunk at a time, and a record of how many are alive."""

    def __init__(self, n_chunks, *, fails_at=None):
        super().__init__((), Facts(n_chunks, float(n_chunks), 0, 0), rows_per_chunk=1)
        self.fails_at = fails_at
        self.alive = self.most_alive = self.n_read = 0
        self.lock = threading.Lock()

    def read(self):
        for i in range(self.n_rows):
            if i == self.fails_at:
                raise OSError("the disk is gone")
            with self.lock:
                self.alive += 1
                self.n_read += 1
                self.most_alive = max(self.most_alive, self.alive)
            yield i

    def __getitem__(self, index):
        return index

    def mapped(self, change):
        raise NotImplementedError


class Names:
    """The order of merging, in words."""

    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Names(f"({self.text}+{other.text})")


def named(lane):
    return Names(",".join(map(str, lane)))


@given(n_chunks=st.integers(1, 700), n_jobs=st.sampled_from([1, 2, 5]))
def test_chunks_that_are_read_are_merged_in_the_order_of_chunks_in_memory(n_chunks, n_jobs):
    rows = Read(n_chunks)
    in_memory = type("Listed", (list,), {"segments": rows.segments})(range(n_chunks))
    expected = ThreadExecutor(1).reduce(named, in_memory).text
    assert ThreadExecutor(n_jobs).reduce(named, rows).text == expected
    assert ThreadExecutor(4).reduce(named, in_memory).text == expected
    parts = [tally_segment(named, [*segment], n_jobs=n_jobs) for segment in rows.segments]
    assert merge_tree(parts).text == expected


def test_large_counts_have_few_lanes_wherever_the_rows_lie():
    rows = Read(100)
    in_memory = type("Listed", (list,), {"segments": rows.segments})(range(100))
    expected = ThreadExecutor(1).reduce(named, in_memory, counts_bytes=2**26).text
    assert ThreadExecutor(2).reduce(named, rows, counts_bytes=2**26).text == expected
    assert expected != ThreadExecutor(1).reduce(named, in_memory).text


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_one_chunk_more_than_there_are_jobs_is_alive(n_jobs):
    rows = Read(200)

    def tally(lane):
        total = 0
        for chunk in lane:
            total += chunk
            with rows.lock:
                rows.alive -= 1
        return total

    assert ThreadExecutor(n_jobs).reduce(tally, rows) == sum(range(200))
    assert rows.most_alive <= n_jobs + 1


def test_a_chunk_that_was_counted_is_emptied():
    blocks = []

    class Blocks(Read):
        def read(self):
            for i in range(self.n_rows):
                block = DenseBlock(np.full((1, 1), float(i)))
                blocks.append(block)
                yield Chunk(i, i, (block,), None, None, 1)

    total = ThreadExecutor(2).reduce(lambda lane: sum(c.blocks[0].values.sum() for c in lane), Blocks(50))
    assert total == sum(range(50))
    assert all(vars(block) == {} for block in blocks)


def test_an_error_while_reading_ends_the_pass_with_that_error():
    for n_jobs in (1, 3):
        with pytest.raises(OSError, match="disk is gone"):
            ThreadExecutor(n_jobs).reduce(named, Read(100, fails_at=37))


@pytest.mark.parametrize("where", [0, 1, 50, 99])
def test_an_error_while_counting_ends_the_pass_with_that_error(where):
    def tally(lane):
        for chunk in lane:
            if chunk == where:
                raise ZeroDivisionError("no row")
        return 0

    rows = Read(100)
    for n_jobs in (1, 2, 9):
        with pytest.raises(ZeroDivisionError, match="no row"):
            ThreadExecutor(n_jobs).reduce(tally, rows)
    assert threading.active_count() < 20


def test_every_chunk_that_is_read_is_given_to_each_task_once():
    seen = []
    ThreadExecutor(3).each(seen.append, Read(40))
    assert sorted(seen) == list(range(40))


def test_two_threads_count_a_stream_unless_more_are_asked_for():
    assert ThreadExecutor(None).stream_jobs <= 2
    assert ThreadExecutor(7).stream_jobs == 7


def test_chunks_of_wide_tables_have_fewer_rows():
    assert chunk_rows(2, 10) > chunk_rows(2, 1000)


def test_no_second_thread_is_woken_for_numbers_that_one_has_added_up_before():
    two = ThreadExecutor(2)
    assert for_one_look(two, [1, 2], FEW_NUMBERS - 1).n_jobs == 1
    assert for_one_look(two, [1, 2], FEW_NUMBERS) is two
    assert for_one_look(two, Read(3), 0) is two
