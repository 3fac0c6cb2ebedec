"""Parquet files, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from softcount.cli.outcomes import DataError
from softcount.inputs.raw_table import RawTable

__all__ = ["parquet_parts", "read_parquet", "read_part"]

PIECE_ROWS = 10_000
BUFFER_BYTES = 2**20


def read_parquet(file: BinaryIO, path: str, first: int = 1) -> Iterator[RawTable]:
    """The table in pieces; places are row numbers.

    Parameters
    ----------
    file : binary file
    path : str
        For messages.
    first : int
        Number of the first row.
    """
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    # A Parquet file is read from its end, which a pipe does not have.
    source = file if file.seekable() else io.BytesIO(file.read())
    place = first
    try:
        # Column by column through small buffers: a row group need not fit into memory.
        parquet = pq.ParquetFile(source, buffer_size=BUFFER_BYTES, pre_buffer=False)
        names = parquet.schema_arrow.names
        if len(set(names)) < len(names):
            raise DataError(f"{path}: the column names {names} are not all different. Rename the columns.")
        yield RawTable({name: [] for name in names}, [], "row")
        for batch in parquet.iter_batches(batch_size=PIECE_ROWS):
            columns = {name: batch.column(j).to_pylist() for j, name in enumerate(names)}
            yield RawTable(columns, range(place, place + batch.num_rows), "row")
            place += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError, OverflowError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path}: cannot be read as Parquet after row {place - first} ({said}).") from None


def parquet_parts(path: str) -> list[tuple[str, int, int]]:
    """File, row group and number of the first row of every part of a file or folder.

    Parameters
    ----------
    path : str
    """
    import pyarrow.parquet as pq

    from softcount.inputs.parquet_files import find_files

    parts, first = [], 1
    for file in find_files(path):
        found = pq.ParquetFile(file).metadata
        for group in range(found.num_row_groups):
            parts.append((str(file), group, first))
            first += found.row_group(group).num_rows
    return parts


def read_part(path: str, group: int, first: int) -> RawTable:
    """One row group.

    Parameters
    ----------
    path : str
    group : int
    first : int
        Number of its first row.
    """
    import pyarrow.parquet as pq

    part = pq.ParquetFile(path).read_row_group(group)
    columns = {name: part.column(j).to_pylist() for j, name in enumerate(part.column_names)}
    return RawTable(columns, range(first, first + part.num_rows), "row")
