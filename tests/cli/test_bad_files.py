"""Files that are not as they should be: a right answer, or an error that names the place."""

import codecs
import json
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., int]

GOOD = [("label", "text"), ("a", "one two three four five"), ("b", "six seven eight nine ten"), ("", "one two six ten")]
ROWS = GOOD[:1] + GOOD[1:] * 12


def as_csv(rows: list[tuple[str, ...]], mark: str = ",") -> str:
    return "".join(mark.join(row) + "\n" for row in rows)


BAD = {
    "empty file": (b"", "the file is empty"),
    "header only": (b"label,text\n", "no rows below the header"),
    "ragged row": (as_csv(ROWS).encode() + b"a,b,c\n", "line 38 has 3 cells, but line 1 names 2 columns"),
    "short row": (as_csv(ROWS).encode() + b"a\n", "line 38 has 1 cells"),
    "ragged row behind quoted newlines": (b'label,text\na,"x\ny\nz"\nb,c,d\n', "line 5 has 3 cells"),
    "duplicate names": (b"label,text,text\na,b,c\n", "names the column 'text' more than once"),
    "not UTF-8": (
        as_csv(ROWS).encode() + "a,caf\xe9 au lait\n".encode("latin-1"),
        "line 38 holds the byte 0xe9, which is no utf-8 text. Give the file's encoding: with --encoding cp1252, which "
        "older Windows programs write, it reads 'a,café au lait'.",
    ),
    "Excel workbook": (
        b"PK\x03\x04\x14\x00\x00\x00\x08",
        "an Excel workbook or a zip archive, not text. Save the sheet as CSV",
    ),
    "compressed with gzip": (b"\x1f\x8b\x08\x08pk", "compressed with gzip. Unpack it"),
    "Parquet by another name": (b"PAR1\x15\x04", "a Parquet file. Say --format parquet"),
    "numbers for labels": (
        b"label,text\n" + b"".join(b"0.%03d,one two three four five\n" % i for i in range(40)),
        "Numbers are predicted from other columns by softcount glm DATA 'label ~ ...'",
    ),
    "texts for labels": (
        b"label,x\n" + b"".join(b"row number %d,1.%d\n" % (i, i) for i in range(40)),
        "40 different values in 40 cells, which are no classes. Name the column that holds classes",
    ),
    "unclosed quote": (as_csv(ROWS).encode() + b'a,"never closed\nb,c\n', "row that starts on line 38"),
    "no label at all": (b"label,text\n,x y z w\n,u v w x\n", "No row has a label"),
    "one class": (b"label,text\na,x y z w\na,u v w x\n", "the single class 'a'"),
    "nothing to learn from": (b"label,k\na,same\nb,same\n", "There is no column to learn from"),
    "stray cell among numbers": (
        b"label,x\n" + b"".join(b"%c,%d.5\n" % (97 + i % 2, i * i) for i in range(40)) + b"a,oops\n",
        "line 42 holds 'oops'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_csv_file_is_refused_with_the_place(
    name: str, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = BAD[name]
    Path("bad.csv").write_bytes(content)
    assert command("train", "bad.csv", "--label", "label") == 3
    told = capsys.readouterr().err
    assert message in told
    assert told.startswith("Error: ")
    assert "Traceback" not in told
    assert not Path("bad.softcount").exists()


FINE = {
    "byte order mark": codecs.BOM_UTF8 + as_csv(ROWS).encode(),
    "UTF-16": as_csv(ROWS).encode("utf-16"),
    "UTF-16 without a byte order mark": as_csv(ROWS).encode("utf-16-le"),
    "UTF-16 of the other order": as_csv(ROWS).encode("utf-16-be"),
    "semicolons": as_csv(ROWS, ";").encode(),
    "semicolons, as Excel tells of them": b"sep=;\n" + as_csv(ROWS, ";").encode(),
    "tabs": as_csv(ROWS, "\t").encode(),
    "bars": as_csv(ROWS, "|").encode(),
    "Windows line ends": as_csv(ROWS).replace("\n", "\r\n").encode(),
    "empty lines": as_csv(ROWS).replace("\nb", "\n\nb").encode(),
    "NUL in a cell": as_csv(ROWS).replace("six", "si\0x").encode(),
    "quoted newlines": as_csv(ROWS).replace("one two three four five", '"one two\nthree, four\nfive"').encode(),
    "missing marks in the labels": as_csv([(r[0] or "?", r[1]) for r in ROWS]).encode(),
    "a field of a megabyte": as_csv([*ROWS, ("a", "one " * 250_000)]).encode(),
}


@pytest.mark.parametrize("name", FINE)
def test_a_csv_file_of_another_dialect_is_read_as_meant(
    name: str, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("fine.csv").write_bytes(FINE[name])
    assert command("train", "fine.csv", "--label", "label", "--json", "-q") == 0
    content = json.loads(capsys.readouterr().out)
    n_a = 13 if "megabyte" in name else 12
    assert {c["name"]: c["n_labels"] for c in content["classes"]} == {"a": n_a, "b": 12}
    assert [(c["name"], c["role"]) for c in content["columns"]] == [("text", "text")]


def test_numbers_in_every_way_of_writing_them_are_numbers(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["label;plain;thousands;comma;when;gaps"]
    for i in range(40):
        gap = ["?", "NA", "", "N/A"][i % 4] if i % 5 == 0 else f"{i * 1.5:.2f}"
        thousands, comma = f"{i},{i * 7 % 1000:03d}.5", f"{i}.{i * 3 % 1000:03d},25"
        lines.append(f"{'ab'[i % 2]};{i * 1.7:.3f};{thousands};{comma};2026-01-{1 + i % 28:02d};{gap}")
    Path("n.csv").write_text("\n".join(lines))
    assert command("train", "n.csv", "--json", "-q") == 0
    roles = {c["name"]: c["role"] for c in json.loads(capsys.readouterr().out)["columns"]}
    assert roles == {"plain": "number", "thousands": "number", "comma": "number", "when": "date", "gaps": "number"}


BAD_JSONL = {
    "no JSON": (b'{"label": "a", "text": "x"}\n{oops\n', "line 2 is no JSON"),
    "a list": (b"[1, 2]\n", "line 1 holds a list"),
    "a key twice": (b'{"text": "x", "text": "y"}\n', "line 1 names a key twice"),
    "not UTF-8": (b'{"text": "\xff"}\n', "line 1 is no UTF-8"),
    "deep nesting": (b"[" * 100_000 + b"\n", "line 1 is no JSON"),
}


@pytest.mark.parametrize("name", BAD_JSONL)
def test_a_bad_jsonl_file_is_refused_with_the_line(
    name: str, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = BAD_JSONL[name]
    Path("bad.jsonl").write_bytes(content)
    assert command("train", "bad.jsonl", "--label", "label") == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", b"garbage" * 50])
def test_a_broken_parquet_file_is_refused(content: bytes, command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.parquet").write_bytes(content)
    assert command("train", "bad.parquet", "--label", "label") == 3
    assert "cannot be read as Parquet" in capsys.readouterr().err


def test_prediction_names_the_line_and_column_of_a_cell_it_cannot_read(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{'ab'[i % 2]},{i * 1.3:.2f}\n" for i in range(40))
    Path("t.csv").write_text("label,x\n" + rows)
    assert command("train", "t.csv", "-q") == 0
    Path("new.csv").write_text("x\n1.5\nabc\n")
    assert command("predict", "t.softcount", "new.csv", "-o", "out.csv") == 3
    assert "Line 3, column 'x' holds 'abc'; expected a number" in capsys.readouterr().err
    assert not Path("out.csv").exists()
    Path("other.csv").write_text("z\n1.5\n")
    assert command("predict", "t.softcount", "other.csv", "-o", "out.csv") == 3
    assert "['x'], which are not there" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_table_without_rows_is_told_from_one_whose_first_row_is_taken_for_names(
    kind: str, command: Command, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("new.csv").write_text("win a free prize\n")
    assert command("predict", trained, "new.csv", "--to", kind) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert "no rows to predict below the first line, which names the columns 'win a free prize'" in told.err


def test_unknown_categories_and_missing_cells_are_left_out_when_predicting(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{'ab'[i % 2]},{['red', 'blue'][i % 2]},{i}.5\n" for i in range(40))
    Path("t.csv").write_text("label,color,x\n" + rows)
    assert command("train", "t.csv", "-q") == 0
    Path("new.csv").write_text("color,x\nred,?\ngreen,\nblue,NA\n")
    capsys.readouterr()
    assert command("predict", "t.softcount", "new.csv", "--only-answers") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["prediction", "a", lines[2].split(",")[0], "b"]
    assert abs(float(lines[2].split(",")[1]) - 0.5) < 0.05


def test_a_missing_file_is_answered_with_the_one_meant(
    command: Command, messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("train", "mesages.csv") == 3
    assert "did you mean messages.csv?" in capsys.readouterr().err
    assert command("train", "messages.csv", "--label", "lable") == 2
    assert "did you mean 'label'?" in capsys.readouterr().err


def test_control_characters_of_data_never_reach_the_terminal(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("label", "text"), *[("a\x1b[31m", "one two \x1b]0;x\x07 three"), ("b", "six seven eight nine")] * 12]
    Path("t.csv").write_text(as_csv(rows))
    assert command("train", "t.csv") == 0
    assert command("explain", "t.softcount", "t.csv") == 0
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
