"""Room for what is worked out row by row is the thread's own, and used again."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from softcount.core import scratch
from softcount.core.scratch import row_room


def test_the_same_thread_gets_the_same_room_again():
    first = row_room("one", 100, 3)
    again = row_room("one", 50, 4)
    assert np.shares_memory(first, again)
    assert again.shape == (50, 4)
    assert again.flags.c_contiguous


def test_more_rows_than_before_get_more_room():
    row_room("two", 10, 2)
    assert row_room("two", 1000, 2).shape == (1000, 2)


def test_rooms_of_different_uses_and_of_different_threads_are_apart():
    here = row_room("three", 100, 3)
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(row_room, "three", 100, 3).result()
    assert not np.shares_memory(here, row_room("four", 100, 3))
    assert not np.shares_memory(here, there)


def test_a_very_large_room_is_not_kept(monkeypatch):
    monkeypatch.setattr(scratch, "MOST_BYTES", 1000)
    first = row_room("five", 100, 3)
    assert not np.shares_memory(first, row_room("five", 100, 3))
