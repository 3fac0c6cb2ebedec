"""Training on tables that do not fit into memory: read piece by piece, or by the workers of a cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from softcount.cli.console import Progress
from softcount.cli.outcomes import DataError, UsageError
from softcount.cli.readers import Source, open_source
from softcount.cli.readers.parquet_file import parquet_parts, read_part
from softcount.cli.settings import TrainSettings
from softcount.cli.training import LabeledTable, labels_of, with_labels
from softcount.estimators.table.streamed import some_rows_of_pieces
from softcount.inputs.cells import MISSING_MARKS
from softcount.inputs.raw_table import RawTable

__all__ = ["StreamedTable", "in_pieces", "on_dask", "read_streamed", "worked_out"]

T = TypeVar("T")

#: Files larger than this share of the machine's memory are read piece by piece: cells take several times their bytes.
LARGEST_SHARE = 0.1


@dataclass(frozen=True)
class StreamedTable:
    """A table that is read pass after pass.

    Attributes
    ----------
    some : LabeledTable
        Rows of it, evenly spaced.
    rows : callable or list
        What an estimator is fitted to: gives pieces with their labels, or a delayed piece for every part.
    n_rows : int
    counts : Counter
        Labels, and how often they occur.
    """

    some: LabeledTable
    rows: Any
    n_rows: int
    counts: Counter[str]


def in_pieces(paths: Sequence[str], asked: bool | None) -> bool:
    """Whether a table is read piece by piece: as asked, or where it is large.

    Parameters
    ----------
    paths : sequence of str
    asked : bool or None
    """
    if asked is not None:
        return asked
    size = 0
    for path in map(Path, paths):
        files = path.rglob("*.parquet") if path.is_dir() else [path] if path.is_file() else []
        size += sum(file.stat().st_size for file in files)
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # not on every system
        return False
    return size > LARGEST_SHARE * memory


def read_streamed(
    paths: Sequence[str],
    settings: TrainSettings,
    progress: Progress,
    opened: Callable[[str], Source] = open_source,
    *,
    dask: bool = False,
) -> StreamedTable:
    """Go through a table once: its labels, how many rows there are, and some of them.

    Parameters
    ----------
    paths : sequence of str
        One path.
    settings : TrainSettings
    progress : Progress
    opened : callable
        Opens a path, as :func:`~softcount.cli.readers.open_source`.
    dask : bool
        Whether the workers of the Dask client in use read it.
    """
    if len(paths) != 1 or paths[0] == "-":
        raise UsageError("A table that is read piece by piece is one file or folder, which can be read again.")
    path = paths[0]
    source = opened(path)
    progress.says(f"looking through {path}")
    marks = MISSING_MARKS | set(settings.missing)
    counts: Counter[str] = Counter()
    n_rows = 0
    label: str | None = None

    def looked_at() -> Iterator[RawTable]:
        nonlocal n_rows, label
        for piece in source.pieces():
            if label is None:
                label = _label_in(piece, settings)
            n_rows += piece.n_rows
            counts.update(name for name in labels_of(piece, label, marks) if name is not None)
            progress.read(source.done(), source.size)
            yield piece

    some = some_rows_of_pieces(looked_at())
    progress.endless()
    if not n_rows:
        raise DataError(f"{path}: there are no rows.")
    labeled = with_labels(some, settings, counts)
    name = labeled.label_name
    if dask:
        check_readable_elsewhere(source)
        from softcount.core.dask_executor import delayed_parts

        parts: Any = delayed_parts(_part_with_labels, [(*part, name, sorted(marks)) for part in parquet_parts(path)])
        return StreamedTable(labeled, parts, n_rows, counts)
    return StreamedTable(labeled, _Pieces(source.pieces, name, frozenset(marks)), n_rows, counts)


def _label_in(piece: RawTable, settings: TrainSettings) -> str:
    """The column of labels, before any of them is known."""
    return with_labels(piece, settings, Counter({"": 1, " ": 1})).label_name


@dataclass(frozen=True)
class _Pieces:
    """All pieces once more, each with its labels."""

    pieces: Callable[[], Iterator[RawTable]]
    label: str
    marks: Collection[str]

    def __call__(self) -> Iterator[tuple[RawTable, Any]]:
        """Begin anew."""
        for piece in self.pieces():
            if piece.n_rows:
                yield _with_its_labels(piece, self.label, self.marks)


def _with_its_labels(piece: RawTable, label: str, marks: Collection[str]) -> tuple[RawTable, Any]:
    labels = np.empty(piece.n_rows, dtype=object)
    labels[:] = labels_of(piece, label, marks)
    return piece.without(label), labels


def _part_with_labels(path: str, group: int, first: int, label: str, marks: Sequence[str]) -> tuple[RawTable, Any]:
    """A row group of a Parquet file, where a worker reads it."""
    return _with_its_labels(read_part(path, group, first), label, frozenset(marks))


def check_readable_elsewhere(source: Source) -> None:
    """Refuse what the workers of a cluster cannot read part by part."""
    if source.format != "parquet" or source.path == "-":
        raise UsageError(f"{source.path}: --dask reads Parquet files and folders, and this is {source.format}.")


def worked_out(source: Source, task: Callable[..., T], progress: Progress, *arguments: Any, dask: bool) -> Iterator[T]:
    """``task(piece, *arguments)`` of every piece of a table, in their order.

    Parameters
    ----------
    source : Source
    task : callable
    progress : Progress
    *arguments
        What the task is given besides.
    dask : bool
        Whether the workers of the Dask client in use read the pieces, which then are row groups, and do the task.
    """
    if not dask:
        for piece in source.pieces():
            yield task(piece, *arguments)
            progress.read(source.done(), source.size)
        return
    check_readable_elsewhere(source)
    from softcount.core.dask_executor import current_client, in_turn

    parts = parquet_parts(source.path)
    for number, found in enumerate(in_turn(current_client(), _task_of_part, parts, task, arguments)):
        yield found
        progress.read(number + 1, len(parts))


def _task_of_part(path: str, group: int, first: int, task: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """Do a task with a row group of a Parquet file, where a worker reads it."""
    return task(read_part(path, group, first), *arguments)


@contextmanager
def on_dask(address: str | None) -> Iterator[None]:
    """Use the cluster at an address; "local" is one of processes on this machine, and None is none.

    Parameters
    ----------
    address : str or None
    """
    if address is None:
        yield
        return
    try:
        from softcount.core.dask_executor import client_at, close_client, current_client
    except ImportError:
        raise UsageError("--dask needs Dask: pip install 'softcount[dask]'.") from None
    try:
        client = current_client() if address == "local" else client_at(address)
    except TypeError as error:  # what distributed says of a protocol without certificates
        raise UsageError(
            f"--dask {address}: Dask's configuration names no certificates for this. Put them into "
            "~/.config/dask/distributed.yaml under distributed.comm.tls: ca-file, client.cert and client.key "
            f"({error})."
        ) from None
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--dask {address}: no cluster answers there ({error}).") from None
    try:
        with client.as_current():
            yield
    finally:
        if address != "local":  # that one is kept for later fits of this process
            close_client(client)
