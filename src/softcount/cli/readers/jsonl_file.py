"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from softcount.cli.outcomes import DataError
from softcount.inputs.raw_table import RawTable

__all__ = ["read_jsonl"]

PIECE_ROWS = 20_000
PIECE_BYTES = 8_000_000


def read_jsonl(file: BinaryIO, path: str) -> Iterator[RawTable]:
    """The table in pieces; places are line numbers. A key that a record lacks is missing there.

    Parameters
    ----------
    file : binary file
    path : str
        For messages.
    """
    records: list[dict[str, Any]] = []
    places: list[int] = []
    known: dict[str, None] = {}
    n_bytes = 0
    for line, raw in enumerate(file, start=1):
        if not raw.strip():
            continue
        record = _record(raw, line, path)
        known.update(dict.fromkeys(record))
        records.append(record)
        places.append(line)
        n_bytes += len(raw)
        if len(records) >= PIECE_ROWS or n_bytes >= PIECE_BYTES:
            yield _table(records, places, known)
            records, places, n_bytes = [], [], 0
    yield _table(records, places, known)


def _record(raw: bytes, line: int, path: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            raise DataError(f"{path}: line {line} names a key twice.")
        return record

    try:
        record = json.loads(raw.decode("utf-8-sig" if line == 1 else "utf-8"), object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: line {line} is no UTF-8 text (byte {error.start + 1}).") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: line {line} is no JSON ({error}). Expected one object per line.") from None
    if not isinstance(record, dict):
        raise DataError(
            f"{path}: line {line} holds a {type(record).__name__}. Expected one object per line, "
            'such as {"text": "hello", "label": "ham"}.'
        )
    return record


def _table(records: list[dict[str, Any]], places: list[int], known: dict[str, None]) -> RawTable:
    return RawTable({name: [record.get(name) for record in records] for name in known}, places, "line")
