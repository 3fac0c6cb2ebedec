"""CSV files: delimiter and encoding found out, every row checked, errors that name the line."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Generator, Iterator
from itertools import chain
from typing import Any, BinaryIO

from softcount import kernels
from softcount.cli.outcomes import DataError, UsageError
from softcount.inputs.raw_table import RawTable

__all__ = ["read_csv"]

DELIMITERS = ",;\t|"
SNIFFED = 64 * 1024
#: A piece ends after this many rows or characters, so that memory stays bounded.
PIECE_ROWS = 20_000
PIECE_CHARACTERS = 8_000_000
#: Bytes that are looked at together for quotation marks.
PLAIN_BYTES = 1 << 20
#: Longest field that is read.
LONGEST_FIELD = 2**30

#: In UTF-16 every other byte of Latin letters, digits and delimiters is zero: where so many are, it is one.
PAIRS_WITH_ZERO = 0.5

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip

#: How files begin that get called tables but hold no text, and what to do with them.
_NO_TEXT = {
    b"PK\x03\x04": "this is an Excel workbook or a zip archive, not text. Save the sheet as CSV, unpack the archive.",
    b"\xd0\xcf\x11\xe0": "this is an old Excel workbook, not text. Save the sheet as CSV UTF-8.",
    b"\x1f\x8b": "this is compressed with gzip. Unpack it: zcat FILE | softcount ... -, or gunzip FILE.",
    b"PAR1": "this is a Parquet file. Say --format parquet.",
}


def read_csv(
    file: BinaryIO, path: str, *, delimiter: str | None = None, encoding: str | None = None
) -> Iterator[RawTable]:
    """The table in pieces; places are line numbers.

    Parameters
    ----------
    file : buffered binary file
    path : str
        For messages.
    delimiter, encoding : str, optional
        By default told from the start of the file: UTF-8 unless a byte order mark says otherwise.
    """
    buffered: Any = file
    start = buffered.peek(SNIFFED)
    for magic, what in _NO_TEXT.items():
        if start.startswith(magic):
            raise DataError(f"{path}: {what}")
    chosen = encoding or _encoding_of(start)
    try:
        text = io.TextIOWrapper(buffered, encoding=chosen, newline="")
    except LookupError:
        raise UsageError(f"There is no encoding {chosen!r}. Try utf-8, latin-1, cp1252 or utf-16.") from None
    if delimiter is not None and len(delimiter) != 1:
        raise UsageError(f"The delimiter is {delimiter!r}; give one character, or \\t for a tab.")
    first = start.decode(chosen, "replace").lstrip("\ufeff")
    # Excel's own way to name the delimiter: a first line that is no part of the table.
    told = re.match(r'"?sep=([,;\t|])"?\r?\n', first)
    mark = delimiter or (told[1] if told else _find_delimiter(first))
    csv.field_size_limit(min(LONGEST_FIELD, sys.maxsize))
    names, before, block, reader = None, 0, "", csv.reader(text)
    try:
        if chosen == "utf-8" and not told:
            names, before, block = yield from _plain_pieces(buffered, path, mark)
            if names is not None and not block:
                return
        reader = csv.reader(chain(io.StringIO(block, newline=""), text), delimiter=mark, strict=True)
        if told:
            next(reader)
        yield from _pieces(reader, path, mark, names, before)
    except UnicodeDecodeError as error:
        raise _not_in(chosen, path, before + reader.line_num, error) from None
    finally:
        # The file belongs to the caller.
        text.detach()


def _encoding_of(start: bytes) -> str:
    """The encoding that a byte order mark tells, or the zeros of UTF-16 without one; otherwise UTF-8."""
    told = next((name for bom, name in _BOMS if start.startswith(bom)), None)
    if told is not None:
        return told
    pairs = len(start) // 2
    zeros = start[0 : 2 * pairs : 2].count(0), start[1 : 2 * pairs : 2].count(0)
    for name, many, few in (("utf-16-le", zeros[1], zeros[0]), ("utf-16-be", zeros[0], zeros[1])):
        if many > PAIRS_WITH_ZERO * pairs and few < (1.0 - PAIRS_WITH_ZERO) * many:
            return name
    return "utf-8"


def _plain_pieces(file: BinaryIO, path: str, mark: str) -> Generator[RawTable, None, tuple[list[str] | None, int, str]]:
    """Pieces of UTF-8 up to the first quotation mark: there a row is a line, and its cells stand between delimiters.

    That is what ``csv.reader`` says of such lines, in a fraction of the time. Returns the names of the columns, how
    many lines have been read, and the text that comes next and needs a closer look: a line in it is perhaps too long
    or too short.
    """
    names: list[str] | None = None
    columns, places, n_lines, n_bytes, block = list[list[str]](), list[int](), 0, 0, ""
    while data := file.read(PLAIN_BYTES):
        data += file.readline()
        found = _plain_columns(data, mark, names)
        if found is None:
            try:
                block = data.decode("utf-8")
            except UnicodeDecodeError as error:
                raise _not_in("utf-8", path, n_lines, error) from None
            break
        places.extend(range(n_lines + 1, n_lines + len(found[0]) + 1))
        n_lines += len(found[0])
        n_bytes += len(data)
        if names is None:
            names = _names([column.pop(0) for column in found], path)
            columns, places = found, places[1:]
        else:
            for column, cells in zip(columns, found, strict=True):
                column.extend(cells)
        while len(places) >= PIECE_ROWS or n_bytes >= PIECE_CHARACTERS:
            yield _table(names, [column[:PIECE_ROWS] for column in columns], places[:PIECE_ROWS])
            columns, places, n_bytes = [column[PIECE_ROWS:] for column in columns], places[PIECE_ROWS:], 0
    if names is not None:
        yield _table(names, columns, places)
    return names, n_lines, block


def _plain_columns(data: bytes, mark: str, names: list[str] | None) -> list[list[str]] | None:
    """The cells of some whole lines, column by column; None where telling takes more than a look for delimiters."""
    if mark in '\r\n"\0' or len(data) > LONGEST_FIELD:
        return None
    header = data.partition(b"\n")[0]
    width = header.count(mark.encode()) + 1 if names is None else len(names)
    found = kernels.split_lines(data, mark, width)
    # An empty line before the names is passed over.
    return None if names is None and found is not None and width == 1 and not found[0][0] else found


def _pieces(reader: Any, path: str, mark: str, names: list[str] | None, before: int) -> Iterator[RawTable]:
    """Pieces of what the reader gives, ``before`` lines being read; without names, its first row has them."""
    # The reader tells a row's last line; its first one differs where quoted cells hold newlines.
    line = before + 1
    try:
        if names is None:
            header = next((row for row in reader if row), None)
            if header is None:
                raise DataError(f"{path}: the file is empty. Expected a first line with the names of the columns.")
            names = _names(header, path)
        width, rows, places, n_characters = len(names), list[list[str]](), list[int](), 0
        line = before + reader.line_num + 1
        for row in reader:
            if len(row) == width:
                rows.append(row)
                places.append(line)
                n_characters += sum(map(len, row))
            elif row:
                raise DataError(_ragged(path, line, row, names, mark))
            elif width == 1:
                # An empty line in a file of one column is an empty cell.
                rows.append([""])
                places.append(line)
            if len(rows) >= PIECE_ROWS or n_characters >= PIECE_CHARACTERS:
                yield _table(names, _columns(names, rows), places)
                rows, places, n_characters = [], [], 0
            line = before + reader.line_num + 1
        yield _table(names, _columns(names, rows), places)
    except csv.Error as error:
        raise DataError(
            f"{path}: the row that starts on line {line} cannot be read ({error}). A quotation mark may be missing."
        ) from None


def _columns(names: list[str], rows: list[list[str]]) -> list[list[Any]]:
    return [list(cells) for cells in zip(*rows, strict=True)] if rows else [[] for _ in names]


def _table(names: list[str], columns: list[list[Any]], places: list[int]) -> RawTable:
    return RawTable(dict(zip(names, columns, strict=True)), places, "line")


def _names(header: list[str], path: str) -> list[str]:
    names = [name.strip() for name in header]
    if all(not name for name in names):
        raise DataError(f"{path}: the first line names no columns.")
    names = [name or f"column {j + 1}" for j, name in enumerate(names)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{path}: line 1 names the column{'s' if len(twice) > 1 else ''} {', '.join(map(repr, twice))} "
                      "more than once. Rename them.")  # fmt: skip
    return names


def _not_in(encoding: str, path: str, n_lines: int, error: UnicodeDecodeError) -> DataError:
    """The place of bytes that are no text in the encoding, and how they read in the one that is commonest then."""
    data, at = error.object, error.start
    line = n_lines + 1 + data[:at].count(b"\n")
    begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
    piece = data[max(begin, at - 15) : end if 0 <= end < at + 15 else at + 15].strip()
    found = f"{path}: line {line} holds the byte 0x{data[at]:02x}, which is no {encoding} text."
    if encoding.lower().replace("-", "") not in ("utf8", "utf8sig"):
        return DataError(f"{found} Give the file's encoding with --encoding.")
    return DataError(
        f"{found} Give the file's encoding: with --encoding cp1252, which older Windows programs write, it reads "
        f"{piece.decode('cp1252', 'replace')!r}."
    )


def _ragged(path: str, line: int, row: list[str], names: list[str], mark: str) -> str:
    hint = ""
    if len(row) == 1 or len(names) == 1:
        hint = f" If {mark!r} does not separate the cells of this file, say what does with --delimiter."
    elif len(row) > len(names):
        hint = f" A cell with {mark!r} in it has to be quoted."
    return f"{path}: line {line} has {len(row)} cells, but line 1 names {len(names)} columns.{hint}"


def _find_delimiter(start: str) -> str:
    """The delimiter that cuts the first rows into the same number of cells, more than one."""
    lines = start.splitlines(keepends=True)
    if len(start) >= SNIFFED // 8 and len(lines) > 1:
        lines = lines[:-1]
    best, most = ",", 1
    for mark in DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=mark) if row][:50]
        except csv.Error:
            continue
        if not widths:
            continue
        header = widths[0]
        agreeing = sum(width == header for width in widths) / len(widths)
        if header > most and agreeing > 0.9:
            best, most = mark, header
    if most > 1:
        return best
    # Perhaps some rows are ragged: the delimiter of the header is better than none.
    first = next((line for line in lines if line.strip()), "")
    return max(DELIMITERS, key=first.count) if any(mark in first for mark in DELIMITERS) else ","
