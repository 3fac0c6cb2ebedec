"""Folders of texts, mail, several files, and reading in pieces."""

import json
import mailbox
import tracemalloc
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from softcount.cli.readers import csv_file, open_source, read_all

Command = Callable[..., int]
KINDS = {"ham": "lunch at noon with friends, see you there", "spam": "win a free prize, claim your money now"}


def labels_in(content: dict[str, Any]) -> dict[str, int]:
    """Labeled rows by class, from the JSON of training."""
    return {c["name"]: c["n_labels"] for c in content["classes"]}


def test_subfolders_of_texts_are_labels(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, text in KINDS.items():
        (Path("texts") / kind).mkdir(parents=True)
        for i in range(12):
            (Path("texts") / kind / f"{i}.txt").write_text(f"{text} {i}")
    (Path("texts") / "unlabeled").mkdir()
    (Path("texts") / "unlabeled" / "x.txt").write_bytes("café au lait, free lunch".encode("cp1252"))
    assert command("train", "texts", "--json", "-q") == 0
    content = json.loads(capsys.readouterr().out)
    assert (labels_in(content), content["n_rows"]) == ({"ham": 12, "spam": 12}, 25)
    assert Path("texts.softcount").exists()


def test_links_that_lead_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("open")
    (tmp_path / "texts" / "b.txt").symlink_to(tmp_path / "secret.txt")
    assert read_all(open_source(str(tmp_path / "texts"))).columns["text"] == ["open"]


def a_message(text: str, *, html: bool = False) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "ann@example.org", "hello"
    message.set_content(f"<p>{text}</p><script>evil()</script>" if html else text, subtype="html" if html else "plain")
    return message


def test_mboxes_are_classes_named_like_their_files(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, text in KINDS.items():
        box = mailbox.mbox(f"{kind}.mbox")
        for i in range(12):
            box.add(a_message(f"{text} {i}", html=i % 2 == 0))
        box.close()
    assert command("train", "ham.mbox", "spam.mbox", "-o", "m.softcount", "--json", "-q") == 0
    content = json.loads(capsys.readouterr().out)
    assert labels_in(content) == {"ham": 12, "spam": 12}
    assert "evil" not in json.dumps(content["evidence"])


def test_a_folder_of_maildirs_is_read_with_their_names_as_labels(tmp_path: Path) -> None:
    for kind, text in KINDS.items():
        box = (
            mailbox.Maildir(tmp_path / "mail" / f".{kind}", create=True)
            if (tmp_path / "mail").mkdir(exist_ok=True) is None
            else None
        )
        assert box is not None
        box.add(a_message(text))
    table = read_all(open_source(str(tmp_path / "mail")))
    assert table.columns["label"] == ["ham", "spam"]
    assert [text.strip() for text in table.columns["text"]] == list(KINDS.values())


def test_a_broken_message_is_still_read(tmp_path: Path) -> None:
    broken = (
        b"From: x\nContent-Type: text/plain; charset=no-such\nSubject: =?utf-8?b?!!!?=\nDate: \xff\xfe\n\nbody \xff\n"
    )
    (tmp_path / "b.mbox").write_bytes(b"From a@b Thu Jan  1 00:00:00 2026\n" + broken)
    assert "body" in read_all(open_source(str(tmp_path / "b.mbox"))).columns["text"][0]


def test_files_of_the_same_columns_are_joined_and_others_refused(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, kind in (("a", "ham"), ("b", "spam")):
        Path(f"{name}.csv").write_text("label,text\n" + "".join(f'{kind},"{KINDS[kind]} {i}"\n' for i in range(12)))
    assert command("train", "a.csv", "b.csv", "--json", "-q") == 0
    assert labels_in(json.loads(capsys.readouterr().out)) == {"ham": 12, "spam": 12}
    Path("c.csv").write_text("label,message\nham,x\n")
    assert command("train", "a.csv", "c.csv") == 3
    assert "c.csv: has the columns" in capsys.readouterr().err


def test_pieces_put_together_are_the_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f'{i},"x\n{i}"\n' for i in range(100)))
    whole = read_all(open_source(str(path)))
    monkeypatch.setattr(csv_file, "PIECE_ROWS", 7)
    pieces = list(open_source(str(path)).pieces())
    assert len(pieces) == 15
    assert [cell for piece in pieces for cell in piece.columns["b"]] == whole.columns["b"]
    assert list(whole.places) == list(range(2, 202, 2))


def test_a_key_that_appears_late_in_jsonl_is_missing_before(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2, "b": "x"}\n')
    table = read_all(open_source(str(path)))
    assert table.columns == {"a": [1, 2], "b": [None, "x"]}
    assert table.where(1) == "line 3"


def test_reading_in_pieces_takes_memory_that_does_not_grow_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "PIECE_CHARACTERS", 100_000)
    monkeypatch.setattr(csv_file, "PLAIN_BYTES", 20_000)
    peaks = []
    for n_rows in (2_000, 40_000):
        path = tmp_path / f"{n_rows}.csv"
        path.write_text("a\n" + "some words of a row\n" * n_rows)
        tracemalloc.start()
        assert sum(piece.n_rows for piece in open_source(str(path)).pieces()) == n_rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 8 * peaks[0]
