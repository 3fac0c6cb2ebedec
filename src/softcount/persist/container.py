"""The model file: arrays and one JSON text in the safetensors layout, read with suspicion.

A file is 8 bytes with the length of a JSON header, the header (for each array its type, shape and place; and the
model's tree as text), and the arrays' bytes. Reading checks everything about the header before anything large is
allocated: a file cannot make the reader take much more memory than the file itself has bytes, run code, or read outside
the file.
"""

from __future__ import annotations

import json
import math
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._whole_file import whole_file
from softcount.persist.tree import Arrays

__all__ = ["read_container", "write_container"]

#: The longest header that is written and read, and the most values in it: arrays, the words of texts among them, are
#: no part of it, and a column of a million categories stays below. More would take long to parse, and much memory.
LONGEST_HEADER = 64 * 2**20
MOST_VALUES = 3_000_000
MOST_ARRAYS = 100_000

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}


def write_container(path: str | os.PathLike[str], tree: Any, arrays: Arrays) -> None:
    """Write the file whole or not at all: a temporary file in the same folder, synced, then renamed."""
    header: dict[str, Any] = {"__metadata__": {"softcount": json.dumps(tree, ensure_ascii=False, allow_nan=False)}}
    place = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER or _values_in(text) > MOST_VALUES:
        raise InputError(
            f"The model has {_values_in(text):,} values beside its arrays, in {len(text):,} bytes; a model file holds "
            f"at most {MOST_VALUES:,} in {LONGEST_HEADER:,}. Merge rare categories, or read the column as text."
        )
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{str(path)!r} cannot be written: there is no folder {str(folder)!r}. Make it first.")
    if Path(path).is_dir():
        raise IsADirectoryError(
            f"{str(path)!r} cannot be written: it is a folder. Give the name of a file, such as "
            f"{str(Path(path) / 'model.softcount')!r}."
        )
    with whole_file(path) as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for array in arrays.values():
            file.write(array.tobytes())


def read_container(path: str | os.PathLike[str]) -> tuple[Any, Arrays]:
    """The tree and the arrays of a file, every claim of its header checked first."""
    if Path(path).is_dir():
        raise IsADirectoryError(
            f"{os.fspath(path)!r} is a folder, and a model is one file. Give the file that `softcount train` or `save` "
            "wrote."
        )
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise InputError(f"{os.fspath(path)!r} is no softcount model: it has {size} bytes only.")
        (length,) = struct.unpack("<Q", start)
        if length > min(LONGEST_HEADER, size - 8) or length < 2:
            raise InputError(
                f"{os.fspath(path)!r} is no softcount model, or not all of it: it does not begin with the length of a "
                f"header that fits into its {size} bytes. Give the file that `softcount train` or `save` wrote."
            )
        header = _parse(file.read(length), path)
        places = _check_arrays(header, size - 8 - length, path)
        arrays: Arrays = {}
        for name, (dtype, shape, begin, end) in places.items():
            file.seek(8 + length + begin)
            data = file.read(end - begin)
            if len(data) != end - begin:
                raise InputError(f"{os.fspath(path)!r} ends in the middle of the array {name!r}.")
            arrays[name] = np.frombuffer(data, dtype=dtype).reshape(shape).copy()
    tree = _parse(header["__metadata__"]["softcount"].encode(), path)
    return tree, arrays


def _values_in(text: bytes) -> int:
    """At least as many values as a JSON text holds, without parsing it."""
    return text.count(b",") + text.count(b"{") + text.count(b"[")


def _parse(text: bytes, path: Any) -> dict[str, Any]:
    if _values_in(text) > MOST_VALUES:
        raise InputError(
            f"{os.fspath(path)!r} is no sound softcount model: its header may hold {_values_in(text):,} values; a "
            f"model has at most {MOST_VALUES:,}."
        )

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise InputError(f"{os.fspath(path)!r} is no sound softcount model: its header names something twice.")
        return result

    def no_constant(name: str) -> Any:
        raise InputError(f"{os.fspath(path)!r} is no sound softcount model: its header holds {name}.")

    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=once, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{os.fspath(path)!r} is no softcount model: its header cannot be read ({error}).") from None
    if not isinstance(value, dict):
        raise InputError(f"{os.fspath(path)!r} is no softcount model: its header is a {type(value).__name__}.")
    return value


def _check_arrays(header: dict[str, Any], n_bytes: int, path: Any) -> dict[str, tuple[str, list[int], int, int]]:
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("softcount"), str):
        raise InputError(f"{os.fspath(path)!r} holds arrays, but no softcount model.")
    if len(header) - 1 > MOST_ARRAYS:
        raise InputError(f"{os.fspath(path)!r} claims {len(header) - 1} arrays; a model has at most {MOST_ARRAYS}.")
    places: dict[str, tuple[str, list[int], int, int]] = {}
    for name, entry in header.items():
        if name != "__metadata__":
            places[name] = _check_entry(name, entry, n_bytes, path)
    end = 0
    for name, (_, _, begin, stop) in sorted(places.items(), key=lambda item: item[1][2:]):
        if begin != end:
            raise InputError(f"{os.fspath(path)!r} is no sound softcount model: {name!r} overlaps or leaves a hole.")
        end = stop
    if end != n_bytes:
        raise InputError(f"{os.fspath(path)!r} is no sound softcount model: {n_bytes - end} bytes belong to no array.")
    return places


def _check_entry(name: str, entry: Any, n_bytes: int, path: Any) -> tuple[str, list[int], int, int]:
    fault = InputError(f"{os.fspath(path)!r} is no sound softcount model: what it says of the array {name!r} is wrong.")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise fault
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if (
        not isinstance(dtype, str)
        or dtype not in _TYPES
        or not _whole(shape)
        or not _whole(offsets)
        or len(offsets) != 2
        or len(shape) > 8
    ):
        raise fault
    begin, end = offsets
    if not 0 <= begin <= end <= n_bytes:
        raise fault
    # Python's whole numbers do not overflow.
    if math.prod(shape) * np.dtype(_TYPES[dtype]).itemsize != end - begin:
        raise fault
    return _TYPES[dtype], shape, begin, end


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 2**62 for v in values)
