"""Which reader a path needs, and reading it in pieces or whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from softcount.cli.outcomes import DataError, UsageError
from softcount.inputs.raw_table import RawTable

__all__ = ["FORMATS", "Source", "open_source", "read_all", "similar_file"]

FORMATS = ("csv", "jsonl", "parquet", "texts", "mbox", "maildir")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".mbox": "mbox",
}


@dataclass(frozen=True)
class Source:
    """A table to read.

    Attributes
    ----------
    path : str
        A path, or "-" for standard input.
    format : str
        One of :data:`FORMATS`.
    pieces : callable
        Starts reading: an iterator of tables, one after the other.
    size : int or None
        Bytes in all, where known.
    done : callable
        Bytes read so far.
    """

    path: str
    format: str
    pieces: Callable[[], Iterator[RawTable]]
    size: int | None
    done: Callable[[], int]


@dataclass
class _Meter:
    """Counts the bytes that have been read."""

    file: BinaryIO | None = None

    def position(self) -> int:
        if self.file is None or self.file.closed:
            return 0
        try:
            return self.file.tell()
        except (OSError, ValueError):
            return 0


def open_source(
    path: str, kind: str | None = None, *, delimiter: str | None = None, encoding: str | None = None
) -> Source:
    """The reader of a path; nothing is read yet.

    Parameters
    ----------
    path : str
        A file, a folder, or "-" for standard input.
    kind : str, optional
        One of :data:`FORMATS`; by default told from the name.
    delimiter, encoding : str, optional
        Of a CSV file; by default told from its first lines.
    """
    chosen = kind or _format_of(path)
    meter = _Meter()
    if chosen in ("texts", "maildir"):
        if not Path(path).is_dir():
            raise UsageError(f"{path}: the format {chosen!r} is a folder, and this is none.")
        return Source(path, chosen, lambda: _folder(path, chosen), None, meter.position)
    if chosen == "mbox":
        from softcount.cli.readers.mail import read_mbox

        return Source(path, chosen, lambda: read_mbox(path), None, meter.position)

    if chosen == "parquet" and Path(path).is_dir():
        return _parquet_folder(path, meter)

    def start() -> Iterator[RawTable]:
        with _opened(path) as file:
            meter.file = file
            if chosen == "csv":
                from softcount.cli.readers.csv_file import read_csv

                yield from read_csv(file, path, delimiter=delimiter, encoding=encoding)
            elif chosen == "jsonl":
                from softcount.cli.readers.jsonl_file import read_jsonl

                yield from read_jsonl(file, path)
            else:
                from softcount.cli.readers.parquet_file import read_parquet

                yield from read_parquet(file, path)

    size = None if path == "-" or not Path(path).is_file() else Path(path).stat().st_size
    return Source(path, chosen, start, size, meter.position)


def _parquet_folder(path: str, meter: _Meter) -> Source:
    """All Parquet files of a folder and of the folders in it, in the order of their names, as one table."""
    from softcount.cli.readers.parquet_file import read_parquet
    from softcount.inputs.parquet_files import find_files

    files = find_files(path)
    sizes = [file.stat().st_size for file in files]
    before = 0

    def start() -> Iterator[RawTable]:
        nonlocal before
        before, place, columns = 0, 1, None
        for number, name in enumerate(files):
            with _opened(str(name)) as file:
                meter.file = file
                for piece in read_parquet(file, str(name), place):
                    if columns is None:
                        columns = list(piece.columns)
                    if list(piece.columns) != columns:
                        raise DataError(f"{name}: has the columns {list(piece.columns)}, but {files[0]} has {columns}.")
                    if piece.n_rows or not number:
                        yield piece
                    place += piece.n_rows
            before += sizes[number]

    return Source(path, "parquet", start, sum(sizes), lambda: before + meter.position())


def _folder(path: str, kind: str) -> Iterator[RawTable]:
    if kind == "texts":
        from softcount.cli.readers.text_folder import read_texts

        return read_texts(Path(path))
    from softcount.cli.readers.mail import read_maildir

    return read_maildir(Path(path))


def _opened(path: str) -> BinaryIO:
    if path == "-":
        if sys.stdin.isatty():
            raise UsageError("'-' reads standard input, but that is the terminal. Pipe a table into it.")
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from None


def _format_of(path: str) -> str:
    if path == "-":
        return "csv"
    place = Path(path)
    if not place.exists():
        raise DataError(f"{path}: there is no such file or folder{similar_file(place)}")
    if place.is_dir():
        if _is_maildir(place):
            return "maildir"
        holds = {child.suffix.lower() for child in place.rglob("*") if child.is_file()}
        return "parquet" if ".parquet" in holds and ".txt" not in holds else "texts"
    found = _ENDINGS.get(place.suffix.lower())
    if found is not None:
        return found
    with place.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"From "):
        return "mbox"
    return "jsonl" if start.lstrip().startswith(b"{") else "csv"


def _is_maildir(place: Path) -> bool:
    def is_one(folder: Path) -> bool:
        return (folder / "cur").is_dir() and (folder / "new").is_dir()

    return is_one(place) or any(child.is_dir() and is_one(child) for child in place.iterdir())


def similar_file(place: Path) -> str:
    """``; did you mean …?`` with the name of a file beside this one, or a full stop."""
    import difflib

    if not place.parent.is_dir():
        return "."
    names = [child.name for child in place.parent.iterdir()]
    found = difflib.get_close_matches(place.name, names, n=1)
    return f"; did you mean {place.parent / found[0]}?" if found else "."


def read_all(source: Source, tick: Callable[[int, int | None], None] | None = None) -> RawTable:
    """The whole table.

    Parameters
    ----------
    source : Source
    tick : callable, optional
        Is told bytes read and bytes in all after every piece.
    """
    columns: dict[str, list[object]] = {}
    places: list[int] = []
    unit = "row"
    for piece in source.pieces():
        unit = piece.unit
        for name, cells in piece.columns.items():
            # A key that first appears late in a JSONL file is missing in the records before.
            columns.setdefault(name, [None] * len(places)).extend(cells)
        places.extend(piece.places)
        for cells in columns.values():
            cells.extend([None] * (len(places) - len(cells)))
        if tick is not None:
            tick(source.done(), source.size)
    if not places:
        raise DataError(f"{source.path}: there are no rows{' below the header' if columns else ''}.")
    return RawTable(columns, places, unit)
