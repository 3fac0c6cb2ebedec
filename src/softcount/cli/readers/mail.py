"""Mail: mbox files and Maildir folders."""

from __future__ import annotations

import email
import email.policy
import mailbox
import re
from collections.abc import Iterable, Iterator
from email.message import EmailMessage
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from softcount.cli.outcomes import DataError
from softcount.inputs.raw_table import RawTable

__all__ = ["read_maildir", "read_mbox"]

PIECE_CHARACTERS = 8_000_000
_HEADERS = ("from", "to", "subject", "date")


def read_mbox(path: str) -> Iterator[RawTable]:
    """Columns ``from``, ``to``, ``subject``, ``date`` and ``text`` of the messages; places count messages.

    Parameters
    ----------
    path : str
        An mbox file.
    """
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such mbox file.")
    box = mailbox.mbox(path, create=False)
    try:
        yield from _pieces((box.get_bytes(key), None) for key in box.iterkeys())
    finally:
        box.close()


def read_maildir(folder: Path) -> Iterator[RawTable]:
    """The same columns and ``label``: the name of the Maildir below the folder, where there are several.

    Parameters
    ----------
    folder : Path
        A Maildir, or a folder of Maildirs.
    """

    def messages() -> Iterator[tuple[bytes, str | None]]:
        boxes: list[tuple[Path, str | None]] = [(folder, None)] if (folder / "cur").is_dir() else []
        boxes += [
            (child, child.name.lstrip("."))
            for child in sorted(folder.iterdir())
            if child.is_dir() and (child / "cur").is_dir() and (child / "new").is_dir()
        ]
        for box, label in boxes:
            for part in ("cur", "new"):
                for path in sorted((box / part).iterdir()):
                    if path.is_file():
                        yield path.read_bytes(), label

    return _pieces(messages(), with_label=True)


def _pieces(messages: Iterable[tuple[bytes, str | None]], *, with_label: bool = False) -> Iterator[RawTable]:
    names = [*_HEADERS, *(["label"] if with_label else []), "text"]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    places: list[int] = []
    n_characters = 0
    for number, (data, label) in enumerate(messages, start=1):
        cells = _read_message(data)
        for name, value in zip(_HEADERS, cells, strict=False):
            columns[name].append(value)
        columns["text"].append(cells[-1])
        if with_label:
            columns["label"].append(label)
        places.append(number)
        n_characters += len(cells[-1])
        if n_characters >= PIECE_CHARACTERS:
            yield RawTable(columns, places, "message")
            columns, places, n_characters = {name: [] for name in names}, [], 0
    yield RawTable(columns, places, "message")


def _read_message(data: bytes) -> tuple[str, ...]:
    """Headers and text of a message, however broken it is."""
    # The lenient policy never refuses a header; the modern one raises on some that real mail has.
    message = email.message_from_bytes(data, EmailMessage, policy=email.policy.default)
    headers = []
    for name in _HEADERS:
        try:
            headers.append(str(message.get(name, "")))
        except Exception:
            headers.append("")
    return (*headers, _text_of(message))


def _text_of(message: EmailMessage) -> str:
    plain: list[str] = []
    html: list[str] = []
    for part in message.walk():
        kind = part.get_content_type()
        if kind not in ("text/plain", "text/html") or part.get_filename():
            continue
        payload = part.get_payload(decode=True)
        if not isinstance(payload, bytes):
            continue
        charset = part.get_content_charset() or "utf-8"
        try:
            text = payload.decode(charset, "replace")
        except (LookupError, ValueError):
            text = payload.decode("utf-8", "replace")
        (plain if kind == "text/plain" else html).append(text)
    return "\n".join(plain) if plain else "\n".join(map(_strip_tags, html))


class _TextOnly(HTMLParser):
    """Collects what a reader sees of an HTML page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in ("script", "style")
        self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style") and self.hidden > 0

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.pieces.append(data)


def _strip_tags(html: str) -> str:
    parser = _TextOnly()
    parser.feed(html)
    parser.close()
    return re.sub(r"[ \t]+", " ", "".join(parser.pieces))
