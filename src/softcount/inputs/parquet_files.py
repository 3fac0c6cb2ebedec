"""Parquet files, folders of them, and Arrow datasets as sources of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from softcount._errors import InputError
from softcount._optional import need
from softcount.inputs.batches import Batch, RowValues, named, split

__all__ = ["DatasetSource", "ParquetSource", "find_files"]

#: Bytes of a column that are read from a file at a time.
BUFFER_BYTES = 2**20


def find_files(path: Any) -> list[Path]:
    """The file itself, or the Parquet files of a folder and of the folders in it, in the order of their names."""
    path = Path(path)
    if path.is_dir():
        found = sorted(
            file
            for file in path.rglob("*.parquet")
            if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        )
        if not found:
            raise InputError(f"There is no Parquet file (*.parquet) in the folder {path}.")
        keys = sorted({part for file in found for part in file.relative_to(path).parts[:-1] if "=" in part})
        if keys:
            raise InputError(
                f"{path} keeps columns in the names of its folders ({keys[0]!r}). Give pyarrow.dataset.dataset(path, "
                "partitioning='hive') instead of the path: what the names hold would be lost otherwise."
            )
        return found
    if not path.exists():
        raise InputError(f"There is no file or folder {path}.")
    return [path]


class ParquetSource:
    """The rows of Parquet files, one file after the other.

    Parameters
    ----------
    path : str or path
        A file, or a folder.
    values : dict
        Labels, weights and others by name: names of columns, or the values of all rows.
    features : sequence of str or None
        The columns to keep, where not all others are.
    """

    def __init__(self, path: Any, values: Mapping[str, Any], features: Sequence[str] | None = None) -> None:
        need("pyarrow", "Reading Parquet files")
        self.files = find_files(path)
        self._features = features
        n_rows = 0
        first: dict[str, str] | None = None
        for file in self.files:
            kinds, size = _look_at(file)
            n_rows += size
            if first is None:
                first = kinds
            asked = {name for value in values.values() for name in named(value)}
            _check_same(first, kinds, self.files[0], file, None if features is None else {*features, *asked})
        self.n_rows: int | None = n_rows
        self._columns = list(first or {})
        self._values = RowValues(n_rows, values)

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """All rows, row group by row group."""
        import pyarrow as pa

        wanted = self._columns
        if self._features is not None:
            wanted = [name for name in self._columns if name in {*self._features, *self._values.columns}]
        start = 0
        for file in self.files:
            for where, part in _read(file, wanted, most_rows):
                rows = slice(start, start + part.num_rows)
                start = rows.stop
                if part.num_rows:
                    yield split(pa.Table.from_batches([part]), self._values.of(rows), where, self._features)


def _read(file: Path, columns: list[str], most_rows: int) -> Iterator[tuple[str, Any]]:
    """Record batches and where they are from."""
    with _open(file) as parquet:
        for group in range(parquet.num_row_groups):
            place = f"{file}, row group {group}"
            found = parquet.iter_batches(batch_size=most_rows, row_groups=[group], columns=columns, use_threads=False)
            start = 0
            while True:
                try:
                    part = next(found, None)
                except (OSError, ValueError, EOFError, RuntimeError) as error:
                    raise InputError(
                        f"{place}, cannot be read after row {start} of the group ({_first_line(error)}). Is the file "
                        "damaged, or was it written to meanwhile?"
                    ) from None
                if part is None:
                    break
                yield f"{place}, rows {start} to {start + part.num_rows - 1}", part.select(columns)
                start += part.num_rows


def _open(file: Path) -> Any:
    import pyarrow.parquet as pq

    try:
        # Column by column through small buffers: a row group need not fit into memory.
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES, memory_map=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read as Parquet ({_first_line(error)}). Other files are read into a table "
            "first, for example with pandas.read_csv."
        ) from None


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _look_at(file: Path) -> tuple[dict[str, str], int]:
    """The kinds of the columns, and how many rows there are."""
    with _open(file) as parquet:
        schema = parquet.schema_arrow
        if len(set(schema.names)) < len(schema.names):
            raise InputError(f"{file}: the column names {schema.names} are not all different. Rename the columns.")
        return {field.name: _kind(field.type) for field in schema}, int(parquet.metadata.num_rows)


def _kind(given: Any) -> str:
    """What a column holds, as far as it matters whether files go together."""
    from pyarrow import types

    if types.is_dictionary(given):
        given = given.value_type
    if types.is_null(given):
        return "nothing"
    if types.is_boolean(given):
        return "true or false"
    if types.is_integer(given) or types.is_floating(given) or types.is_decimal(given):
        return "numbers"
    if types.is_string(given) or types.is_large_string(given):
        return "texts"
    return str(given)


def _check_same(
    first: dict[str, str], other: dict[str, str], first_file: Path, file: Path, wanted: set[str] | None
) -> None:
    """Refuse files whose columns are not those of the first."""
    names = set(first) | set(other) if wanted is None else wanted & set(first)
    for name in sorted(names, key=str):
        for have, lack, there, here in ((first, other, first_file, file), (other, first, file, first_file)):
            if name in have and name not in lack:
                raise InputError(
                    f"The files do not have the same columns: {there} has {name!r}, {here} has not. Write them with "
                    "the same columns, or read them one by one."
                )
        kinds = {first[name], other[name]} - {"nothing"}
        if len(kinds) > 1:
            raise InputError(
                f"The files do not have the same columns: {name!r} holds {first[name]} in {first_file}, but "
                f"{other[name]} in {file}. Write them with the same types."
            )


class DatasetSource:
    """The rows of an Arrow dataset, of whatever format.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    values : dict
    features : sequence of str or None
    """

    def __init__(self, dataset: Any, values: Mapping[str, Any], features: Sequence[str] | None = None) -> None:
        self._dataset, self._features = dataset, features
        n_rows = int(dataset.count_rows())
        self.n_rows: int | None = n_rows
        self._values = RowValues(n_rows, values)

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """All rows, in the dataset's order."""
        import pyarrow as pa

        settings = {"batch_size": most_rows, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        start, where = 0, "the dataset"
        found = self._dataset.scanner(**settings).scan_batches()
        while True:
            try:
                tagged = next(found, None)
            except (OSError, ValueError, pa.ArrowException) as error:
                raise InputError(
                    f"The dataset cannot be read after row {start}, {where} ({_first_line(error)})."
                ) from None
            if tagged is None:
                return
            part = tagged.record_batch
            rows = slice(start, start + part.num_rows)
            start = rows.stop
            where = (
                f"rows {rows.start} to {rows.stop - 1} of the dataset ({getattr(tagged.fragment, 'path', 'memory')})"
            )
            if part.num_rows:
                yield split(pa.Table.from_batches([part]), self._values.of(rows), where, self._features)
