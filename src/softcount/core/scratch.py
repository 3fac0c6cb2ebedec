"""Room for what is worked out row by row, kept from chunk to chunk by the thread that counts.

An array of a megabyte that is made anew for every chunk is memory the system has to clear for every chunk. An allocator
that keeps freed memory hides that; the workers of a Dask cluster are told to give theirs back
(``MALLOC_TRIM_THRESHOLD_``), and spend half as much time again on a pass as a thread of one process.
"""

from __future__ import annotations

import threading

import numpy as np

from softcount._types import FloatArray

__all__ = ["row_room"]

#: Room larger than this is not kept.
MOST_BYTES = 2**24

_kept = threading.local()


def row_room(use: str, n_rows: int, n_columns: int) -> FloatArray:
    """A C-contiguous table of doubles with anything in it, good until this thread asks for the same use again.

    Parameters
    ----------
    use : str
        What it is for: rooms of different uses are apart.
    n_rows, n_columns : int

    Examples
    --------
    >>> row_room("scores", 3, 2).shape
    (3, 2)
    """
    size = n_rows * n_columns
    room: FloatArray | None = getattr(_kept, use, None)
    if room is None or room.size < size:
        room = np.empty(size)
        if room.nbytes <= MOST_BYTES:
            setattr(_kept, use, room)
    return room[:size].reshape(n_rows, n_columns)
