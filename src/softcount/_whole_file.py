"""Writing a file so that it is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes its name, and the place of an earlier file, only when it is complete.

    The bytes are on the disk before the name is: after a crash at any instant there is the old file or the new one.
    Whatever ends the ``with`` block early, Ctrl-C included, leaves nothing behind.

    Parameters
    ----------
    path : str or path
        Where to. Through a symbolic link the file it points to is replaced; what is no regular file (a pipe, a
        device) is written to directly.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answers.txt"
    >>> with whole_file(target) as file:
    ...     _ = file.write(b"42")
    ...     target.exists()
    False
    >>> target.read_bytes()
    b'42'
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as device:
            yield device
        return
    # The name is settled before the file exists, so that an interruption at any point after that finds it.
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
        _settle(target.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _settle(folder: Path) -> None:
    """Put the new name on the disk as well, where the system can do that for folders."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        # Some file systems (network mounts among them) cannot; the file itself is safe.
        pass
    finally:
        os.close(handle)
