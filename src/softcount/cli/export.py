"""Tables to files: CSV, JSONL and Parquet, piece by piece, and files that appear whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from softcount._whole_file import whole_file
from softcount.cli.outcomes import DataError, UsageError

__all__ = ["OUTPUT_FORMATS", "TableWriter", "atomic_output", "check_place", "neutral", "output_format", "table_writer"]

OUTPUT_FORMATS = ("csv", "jsonl", "parquet")
_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet"}

#: Spreadsheets take cells that begin so for formulas (the last four are the full-width forms).
_FORMULA = re.compile("[=+\\-@\t\r\n\0\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def output_format(path: str, asked: str | None) -> str:
    """The format of an output file: as asked, else told from its name, else CSV."""
    if asked is not None:
        return asked
    ending = Path(path).suffix.lower()
    if path != "-" and ending not in _ENDINGS:
        raise UsageError(f"{path}: its format cannot be told from the name. Say which one with --to csv|jsonl|parquet.")
    return _ENDINGS.get(ending, "csv")


def check_place(path: str, inputs: Sequence[str]) -> None:
    """Refuse, before the work, an output that could not be written after it, or would replace an input.

    Parameters
    ----------
    path : str
        Where to; "-" is standard output.
    inputs : sequence of str
        Files that are read.
    """
    if path == "-":
        return
    if Path(path).resolve() in [Path(each).resolve() for each in inputs if each != "-"]:
        raise UsageError(f"{path}: this would replace an input; give another name.")
    if Path(path).is_dir():
        raise UsageError(f"{path}: this is a folder; give the name of a file.")
    if not Path(path).resolve().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {str(Path(path).parent)!r}.")


@contextmanager
def atomic_output(path: str) -> Iterator[BinaryIO]:
    """A file to write to that takes its name only when it is whole; "-" is standard output.

    Parameters
    ----------
    path : str
        Where to; an existing file is replaced.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if Path(path).is_dir():
        raise UsageError(f"{path}: this is a folder; give the name of a file.")
    with ExitStack() as open_files:
        try:
            file = open_files.enter_context(whole_file(path))
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror}).") from None
        yield file


class TableWriter(Protocol):
    """Writes a table piece by piece."""

    def write(self, columns: dict[str, Sequence[Any]]) -> None:
        """Some more rows."""

    def close(self) -> None:
        """Nothing follows."""


def table_writer(file: BinaryIO, kind: str, *, raw: bool = False) -> TableWriter:
    """The writer of a format.

    Parameters
    ----------
    file : binary file
    kind : str
        One of :data:`OUTPUT_FORMATS`.
    raw : bool
        Write CSV cells as they are, even where a spreadsheet would take them for formulas.
    """
    if kind == "csv":
        return _CsvWriter(file, raw=raw)
    return _JsonlWriter(file) if kind == "jsonl" else _ParquetWriter(file)


def neutral(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: an apostrophe goes before what might be one."""
    if isinstance(cell, str) and cell and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return "'" + cell
    return cell


class _CsvWriter:
    def __init__(self, file: BinaryIO, *, raw: bool) -> None:
        self.file = file
        self.raw = raw
        self.names: list[str] | None = None

    def write(self, columns: dict[str, Sequence[Any]]) -> None:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if self.names is None:
            self.names = list(columns)
            writer.writerow(self.names if self.raw else [neutral(name) for name in self.names])
        _same_names(self.names, columns)
        for row in zip(*(columns[name] for name in self.names), strict=True):
            cells = [_spelled(cell) for cell in row]
            writer.writerow(cells if self.raw else [neutral(cell) for cell in cells])
        self.file.write(text.getvalue().encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        self.file.flush()


def _spelled(cell: Any) -> Any:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (list, dict)):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return cell


class _JsonlWriter:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def write(self, columns: dict[str, Sequence[Any]]) -> None:
        names = list(columns)
        lines = [
            json.dumps(
                dict(zip(names, map(_finite, row), strict=True)), ensure_ascii=True, default=str, allow_nan=False
            )
            for row in zip(*columns.values(), strict=True)
        ]
        self.file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        self.file.flush()


def _finite(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


class _ParquetWriter:
    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.writer: Any = None
        self.schema: Any = None

    def write(self, columns: dict[str, Sequence[Any]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            if self.writer is None:
                arrays = {name: pa.array(list(cells)) for name, cells in columns.items()}
                # A column without a value yet may hold texts later; any other type would be a guess.
                fields = [(n, pa.string() if pa.types.is_null(a.type) else a.type) for n, a in arrays.items()]
                self.schema = pa.schema(fields)
                self.writer = pq.ParquetWriter(self.file, self.schema)
            _same_names(self.schema.names, columns)
            self.writer.write_table(
                pa.table({name: list(cells) for name, cells in columns.items()}, schema=self.schema)
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise DataError(
                f"The table cannot be written as Parquet, whose columns have one type each ({error}). Write CSV or "
                "JSONL instead."
            ) from None

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def _same_names(names: Sequence[str], columns: dict[str, Sequence[Any]]) -> None:
    """Later records of a JSONL file may bring keys that earlier ones lack; an output has one set of columns."""
    if list(columns) != list(names):
        fresh = [name for name in columns if name not in names]
        raise DataError(
            f"Later rows have the columns {fresh}, which the first ones lack, so they have no place in the output. "
            "Give every record the same keys, or write the answers alone with --only-answers."
        )
