"""What a command says: data on standard output; messages and progress on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from softcount.cli.wording import printable

__all__ = ["Console", "Progress"]


class Progress:
    """Tells how far a job is; shows it only on a terminal."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar = bar
        self._task = task

    def says(self, text: str) -> None:
        """What is being done now."""
        if self._bar is not None:
            self._bar.update(self._task, description=printable(text))

    def read(self, done: int, total: int | None) -> None:
        """Bytes read so far, and in all."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def endless(self) -> None:
        """From now on nobody knows how long it takes."""
        if self._bar is not None:
            self._bar.update(self._task, completed=0, total=None)


class Console:
    """Standard output and standard error of one command.

    Parameters
    ----------
    quiet : bool
        Say nothing but errors.
    as_json : bool
        Standard output is one JSON document.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json

    def note(self, text: str = "") -> None:
        """A message for people, on standard error."""
        if not self.quiet:
            sys.stderr.write(printable(text) + "\n")
            sys.stderr.flush()

    def heading(self, text: str) -> None:
        """A message that stands out, where the terminal can show it."""
        if self.quiet:
            return
        bold = sys.stderr.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        sys.stderr.write(f"\033[1m{printable(text)}\033[0m\n" if bold else printable(text) + "\n")

    def line(self, text: str = "") -> None:
        """A line of the answer, on standard output; nothing where that is JSON."""
        if not self.as_json:
            sys.stdout.write(printable(text) + "\n")

    def document(self, schema: str, content: dict[str, Any]) -> None:
        """The answer as JSON, if that was asked for.

        Parameters
        ----------
        schema : str
            Name and version, such as ``softcount.train/1``.
        content : dict
        """
        self.content({"schema": schema, **content})

    def content(self, content: dict[str, Any]) -> None:
        """The same, where the answer itself names its schema."""
        if self.as_json:
            text = json.dumps(_plain(content), ensure_ascii=True, indent=2, allow_nan=False)
            sys.stdout.write(text + "\n")

    @contextmanager
    def progress(self, text: str) -> Iterator[Progress]:
        """A bar with the time left, on a terminal; nothing elsewhere."""
        if self.quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            yield Progress()
            return
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Bar(*columns, console=Terminal(stderr=True), transient=True) as bar:
            yield Progress(bar, bar.add_task(text, total=None))


def _plain(value: Any) -> Any:
    """Values that JSON has: NaN and infinity become null, arrays lists."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
