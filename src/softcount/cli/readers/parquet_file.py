"""Parquet files, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from softcount.cli.outcomes import DataError
from softcount.inputs.raw_table import RawTable

__all__ = ["read_parquet"]

PIECE_ROWS = 10_000


def read_parquet(file: BinaryIO, path: str) -> Iterator[RawTable]:
    """The table in pieces; places are row numbers, from 1.

    Parameters
    ----------
    file : binary file
    path : str
        For messages.
    """
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    # A Parquet file is read from its end, which a pipe does not have.
    source = file if file.seekable() else io.BytesIO(file.read())
    place = 1
    try:
        parquet = pq.ParquetFile(source)
        names = parquet.schema_arrow.names
        if len(set(names)) < len(names):
            raise DataError(f"{path}: the column names {names} are not all different. Rename the columns.")
        yield RawTable({name: [] for name in names}, [], "row")
        for batch in parquet.iter_batches(batch_size=PIECE_ROWS):
            columns = {name: batch.column(j).to_pylist() for j, name in enumerate(names)}
            yield RawTable(columns, range(place, place + batch.num_rows), "row")
            place += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError, OverflowError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path}: cannot be read as Parquet after row {place - 1} ({first}).") from None
