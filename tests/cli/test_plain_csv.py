"""Lines without a quotation mark are read faster, and to the same cells, lines and errors."""

import io
from itertools import product

import pytest

from softcount.cli.outcomes import DataError
from softcount.cli.readers import csv_file
from softcount.cli.readers.csv_file import read_csv

HEADS = ("a,b\n", "a\n", "a,b\r\n", "a,b\r", "\na,b\n", '"a",b\n')
ROWS = ("1,2\n", "x\u2028y, z \r\n", '"q\nr",s\n', "t\ru,v\n", "only\n", "\n", "n\0,m\n", 'in"side,w\n', "last,line")


def read(data: bytes) -> object:
    """All cells and their lines, or the error."""
    columns: dict[str, list[str]] = {}
    places: list[int] = []
    try:
        for piece in read_csv(io.BufferedReader(io.BytesIO(data)), "t.csv", delimiter=","):
            for name, cells in piece.columns.items():
                columns.setdefault(name, []).extend(cells)
            places.extend(piece.places)
    except DataError as error:
        return str(error)
    return columns, places


@pytest.mark.parametrize("n_bytes", [1, 6, 1 << 20])
def test_lines_without_a_quotation_mark_are_read_as_all_others_are(
    n_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ["".join(lines).encode() for lines in product(HEADS, ROWS, ROWS, ROWS)]
    monkeypatch.setattr(csv_file, "PLAIN_BYTES", n_bytes)
    found = [read(data) for data in files]
    monkeypatch.setattr(csv_file, "_plain_rows", lambda block, mark: None)
    for data, cells in zip(files, found, strict=True):
        assert cells == read(data), data


def test_bytes_that_are_no_text_are_placed_in_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "PLAIN_BYTES", 4)
    assert "line 4 holds the byte 0xe9" in str(read(b"a,b\n1,2\n3,4\ncaf\xe9,5\n"))
    assert "line 4 holds the byte 0xe9" in str(read(b'a,b\n1,2\n"3",4\ncaf\xe9,5\n'))
