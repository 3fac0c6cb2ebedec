"""One process at a time in a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from softcount._errors import InputError

__all__ = ["locked_folder"]

LOCK = "in-use"


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Keep other processes out of the folder; the system lets go of it even when this process is killed.

    Parameters
    ----------
    folder : Path
        An existing folder.
    """
    with (folder / LOCK).open("a+b") as file:
        try:
            _lock(file)
        except OSError:
            file.seek(0)
            holder = file.read(32).decode("ascii", "replace").strip()
            by = f" by process {holder}" if holder else ""
            raise InputError(
                f"The folder {str(folder)!r} is in use{by}. Wait until that has ended, or give another folder."
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        yield


def _lock(file: BinaryIO) -> None:
    """Take the lock that ends with the open file, or fail at once."""
    if sys.platform == "win32":
        import msvcrt

        # Beyond what is written, so that the number of the process stays readable.
        file.seek(1024)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
