"""Folders of text files; a subfolder is the label of what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softcount.cli.outcomes import DataError
from softcount.inputs.raw_table import RawTable

__all__ = ["UNLABELED_NAMES", "decode_text", "read_texts"]

PIECE_CHARACTERS = 8_000_000
LARGEST_FILE = 100 * 2**20
#: Subfolders whose texts have no label.
UNLABELED_NAMES = frozenset({"unlabeled", "unlabelled", "unsup", "unknown"})


def read_texts(folder: Path) -> Iterator[RawTable]:
    """Columns ``file``, ``label`` and ``text`` of all ``.txt`` files; places count files.

    Parameters
    ----------
    folder : Path
        Files directly in it, or in a subfolder called "unlabeled", have no label.
    """
    files = sorted(path for path in folder.rglob("*.txt") if path.is_file() and not _leads_out(path, folder))
    if not files:
        raise DataError(f"{folder}: there is no .txt file in this folder or below it.")
    columns: dict[str, list[Any]] = {"file": [], "label": [], "text": []}
    places: list[int] = []
    n_characters = 0
    for number, path in enumerate(files, start=1):
        inside = path.relative_to(folder)
        label = inside.parts[0] if len(inside.parts) > 1 else None
        if path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path}: the file has {path.stat().st_size:,} bytes; at most {LARGEST_FILE:,} are read.")
        columns["file"].append(inside.as_posix())
        columns["label"].append(None if label is None or label.lower() in UNLABELED_NAMES else label)
        columns["text"].append(decode_text(path.read_bytes()))
        places.append(number)
        n_characters += len(columns["text"][-1])
        if n_characters >= PIECE_CHARACTERS:
            yield RawTable(columns, places, "file")
            columns, places, n_characters = {name: [] for name in columns}, [], 0
    yield RawTable(columns, places, "file")


def decode_text(data: bytes) -> str:
    """Text in whatever encoding: that of a byte order mark, else UTF-8, else Windows-1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _leads_out(path: Path, folder: Path) -> bool:
    """Whether a link leads out of the folder."""
    return not path.resolve().is_relative_to(folder.resolve())
