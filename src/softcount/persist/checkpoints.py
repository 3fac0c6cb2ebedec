"""Checkpoints: what fits have come to, in a folder, so that a fit that is begun again goes on where the last one was.

>>> import tempfile
>>> from softcount import LatentClass, checkpoints
>>> answers = [["yes", "no"], ["no", "no"], ["yes", "yes"], ["no", "yes"]] * 5
>>> with tempfile.TemporaryDirectory() as folder:
...     with checkpoints(folder):
...         first = LatentClass(2, random_state=0).fit(answers)
...     with checkpoints(folder, resume=True):
...         again = LatentClass(2, random_state=0).fit(answers)
>>> bool((first.weights_ == again.weights_).all())
True

A folder holds a numbered folder for every fit, and that a numbered file for every time something was written. A file is
written whole or not at all, holds what has changed since the file before, and ends in nothing that could be run: it is
of the form of model files, with a checksum over all of it. A file that is damaged is left out; what it held is made
again, to the same bits, from what the other files hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount.core.journal import FITTING, Journal, Record
from softcount.persist.container import read_container, write_container
from softcount.persist.folder_lock import locked_folder
from softcount.persist.registry import class_of, make_object, names_of_classes, skip_field
from softcount.persist.tree import Arrays, flatten, rebuild

__all__ = ["checkpoints"]

FORMAT = 1
#: States of a part that is still running that are kept on the disk.
GENERATIONS = 2
#: Parameters that change nothing about the answer.
IRRELEVANT = frozenset({"n_jobs", "verbose", "verbose_interval"})

_FOLDER = re.compile(r"fit-(\d{4,})")
_FILE = re.compile(r"(\d{8,})\.checkpoint")
_DAMAGE = (InputError, OSError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)


@contextmanager
def checkpoints(
    folder: str | os.PathLike[str],
    *,
    resume: bool = False,
    seconds: float = 30.0,
    iterations: int | None = None,
) -> Iterator[None]:
    """Fits inside the ``with`` block write what they have come to into a folder, and continue what is there.

    The continued fit ends with the bits of one that was never interrupted. Every iterative estimator takes part,
    wherever it is fitted inside the block in this thread: alone, in a pipeline, in a search.

    Parameters
    ----------
    folder : str or path
        Made where it does not exist. One process at a time may use it.
    resume : bool
        Whether to go on where the fits in the folder ended; with an empty folder they begin. Without it a folder that
        holds checkpoints is refused, so that they are not mixed up or lost.
    seconds : float
        Write when so many seconds have passed since the last time; 0 writes after every iteration.
    iterations : int, optional
        Write after so many iterations as well.
    """
    if not seconds >= 0.0:
        raise InputError(f"seconds is {seconds!r}; give 0 or more seconds between two checkpoints.")
    if iterations is not None and iterations < 1:
        raise InputError(f"iterations is {iterations!r}; give a whole number of 1 or more, or None.")
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(
            f"{str(place)!r} is a file, but checkpoints are kept in a folder of their own. Name another place."
        )
    place.mkdir(parents=True, exist_ok=True)
    with locked_folder(place):
        if not resume and any(_FOLDER.fullmatch(child.name) for child in place.iterdir()):
            raise InputError(
                f"The folder {str(place)!r} holds checkpoints of an earlier fit. Go on with them by resume=True, or "
                "give an empty folder."
            )
        for unfinished in place.rglob(".*.part"):
            # A process that was killed while it wrote left it behind, and nobody else is here now.
            unfinished.unlink(missing_ok=True)
        book = _Book(place, seconds, iterations)
        token = FITTING.set(book.begin)
        try:
            yield
        finally:
            FITTING.reset(token)
            book.write()


def described(estimator: Any) -> Record:
    """What a fit is about: the estimator, its parameters as short texts, and the version that runs."""
    import softcount

    params = {
        name: _text_of(value) for name, value in estimator.get_params(deep=False).items() if name not in IRRELEVANT
    }
    return {"softcount": softcount.__version__, "estimator": type(estimator).__name__, "params": params}


def _text_of(value: Any) -> str:
    """A short text that other values of a parameter would not have."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return type(value).__name__
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    try:
        tree, arrays = flatten(value, names_of_classes(), skip_field)
    except InputError:
        return type(value).__name__
    return f"{type(value).__name__} {_checksum(tree, arrays)[:16]}"


def _checksum(tree: Any, arrays: Arrays) -> str:
    found = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.data)
    return found.hexdigest()


class _Book:
    """All fits of a folder, and when they are written."""

    def __init__(self, path: Path, seconds: float, iterations: int | None) -> None:
        self.path = path
        self.seconds = seconds
        self.iterations = iterations
        self.fits: list[_FitFolder] = []
        self.written = time.monotonic()
        self.since = 0
        self.writing = threading.Lock()
        self.told = False

    def begin(self, estimator: Any) -> Journal:
        """The journal of the next fit."""
        self.fits.append(_FitFolder(self, self.path / f"fit-{len(self.fits):04d}", described(estimator)))
        return _Part(self.fits[-1], "")

    def noted(self, *, now: bool) -> None:
        """Write if that is due, or ``now``."""
        self.since += 1
        is_due = time.monotonic() - self.written >= self.seconds
        is_due |= self.iterations is not None and self.since >= self.iterations
        # Another thread that is writing just now is soon followed by the next time.
        if (now or is_due) and self.writing.acquire(blocking=now):
            try:
                self.write()
            finally:
                self.writing.release()

    def write(self) -> None:
        """Write what has not been written."""
        try:
            for fit in self.fits:
                fit.write()
        except OSError as error:
            # Told once; a fit of hours does not end because a disk is full.
            if not self.told:
                warnings.warn(
                    f"No checkpoint could be written to {str(self.path)!r} ({error.strerror or error}). The fit goes "
                    "on, and tries again; what was written before is sound.",
                    UserWarning,
                    stacklevel=2,
                )
            self.told = True
        self.written, self.since = time.monotonic(), 0


class _FitFolder:
    """The checkpoints of one fit."""

    def __init__(self, book: _Book, path: Path, about: Record) -> None:
        self.book = book
        self.path = path
        self.about = about
        self.records: dict[str, Record] = {}
        #: File -> the places it holds, and whether they are finished.
        self.files: dict[int, dict[str, bool]] = {}
        #: Place -> the files that hold it, oldest first.
        self.holders: dict[str, list[int]] = {}
        #: What has not been written yet.
        self.waiting: dict[str, tuple[Callable[[], Record], bool]] = {}
        self.digest: str | None = None
        self.found_digest: str | None = None
        self._read()

    # ---- reading
    def _read(self) -> None:
        if not self.path.is_dir():
            return
        found = sorted((int(m[1]), child) for child in self.path.iterdir() if (m := _FILE.fullmatch(child.name)))
        for number, path in found:
            try:
                document, arrays = read_container(path)
                if document.get("sha256") != _checksum(document.get("content"), arrays):
                    raise InputError("its checksum is wrong")
            except _DAMAGE as error:
                self.files[number] = {}
                warnings.warn(
                    f"The checkpoint {str(path)!r} is damaged and was left out ({error}); the fit goes on from what "
                    "the other checkpoints hold, to the same result.",
                    UserWarning,
                    stacklevel=2,
                )
                continue
            self._take(number, path, document["content"], arrays)

    def _take(self, number: int, path: Path, content: Any, arrays: Arrays) -> None:
        if content.get("format") != FORMAT or content["about"]["softcount"] != self.about["softcount"]:
            raise InputError(
                f"The checkpoint {str(path)!r} was written by softcount {content['about']['softcount']}, and this is "
                f"{self.about['softcount']}: only the version that began a fit can end it with the same bits. Use that "
                "version, or begin anew with an empty folder."
            )
        self._demand_same(path, content["about"])
        records = rebuild(content["records"], arrays, make_object, class_of, keep_order=True)
        for place, (record, is_finished) in records.items():
            self.records[place] = record
            self.files.setdefault(number, {})[place] = is_finished
            self.holders.setdefault(place, []).append(number)
        self.found_digest = content["digest"]

    def _demand_same(self, path: Path, about: Record) -> None:
        mine, theirs = self.about, about
        if theirs["estimator"] != mine["estimator"]:
            differ = f"fits a {theirs['estimator']}, and this is a {mine['estimator']}"
        else:
            names = sorted({*theirs["params"], *mine["params"]})
            pairs = [(name, theirs["params"].get(name), mine["params"].get(name)) for name in names]
            other = [f"{name}={one} (now {two})" for name, one, two in pairs if one != two]
            if not other:
                return
            differ = f"is of a {mine['estimator']} with {', '.join(other)}"
        raise InputError(
            f"The checkpoint {str(path)!r} belongs to another fit: it {differ}. Give the estimator it was begun with, "
            "or begin anew with an empty folder."
        )

    def bind(self, digest: Callable[[], str]) -> None:
        """Refuse data that the fit was not begun with."""
        if self.digest is not None:
            return
        self.digest = digest()
        if self.found_digest not in (None, self.digest):
            raise InputError(
                f"The checkpoints in {str(self.path)!r} belong to a fit to other data: rows, columns, labels or "
                "weights differ. Give the data the fit was begun with, or begin anew with an empty folder."
            )

    # ---- writing
    def keep(self, place: str, record: Callable[[], Record], *, finished: bool, now: bool) -> None:
        """Note what a part has come to."""
        self.waiting[place] = (record, finished)
        self.book.noted(now=now)

    def write(self) -> None:
        """Write what has not been written."""
        taken = dict(self.waiting)
        if not taken:
            return
        records = {place: (record(), is_finished) for place, (record, is_finished) in taken.items()}
        tree, arrays = flatten(records, names_of_classes(), skip_field, keep_order=True)
        content = {"format": FORMAT, "about": self.about, "digest": self.digest, "records": tree}
        number = max(self.files, default=-1) + 1
        self.path.mkdir(exist_ok=True)
        document = {"content": content, "sha256": _checksum(content, arrays)}
        write_container(self.path / f"{number:08d}.checkpoint", document, arrays)
        self.files[number] = {place: is_finished for place, (_, is_finished) in records.items()}
        for place, (record, is_finished) in taken.items():
            self.holders.setdefault(place, []).append(number)
            # What came while this was being written stays.
            if self.waiting.get(place) == (record, is_finished):
                del self.waiting[place]
        self._clear()

    def _clear(self) -> None:
        """Delete files all of whose parts have been written again since."""
        needed = {number for holders in self.holders.values() for number in holders[-GENERATIONS:]}
        for number in [number for number in self.files if number not in needed]:
            (self.path / f"{number:08d}.checkpoint").unlink(missing_ok=True)
            for place in self.files.pop(number):
                self.holders[place].remove(number)


class _Part:
    """The journal of a part of a fit."""

    def __init__(self, folder: _FitFolder, place: str) -> None:
        self.folder = folder
        self.place = place

    def part(self, name: str) -> _Part:
        """The journal of a part of this part."""
        return _Part(self.folder, f"{self.place}/{name}")

    def recall(self) -> Record | None:
        """What this part had come to."""
        return self.folder.records.get(self.place)

    def keep(self, record: Callable[[], Record], *, finished: bool, now: bool = False) -> None:
        """Note what this part has come to."""
        self.folder.keep(self.place, record, finished=finished, now=now)

    def bind(self, digest: Callable[[], str]) -> None:
        """Refuse other data."""
        self.folder.bind(digest)

    @property
    def advice(self) -> str:
        """How to go on."""
        return (
            f" What it came to is in {str(self.folder.path.parent)!r}: fit again inside "
            f"checkpoints({str(self.folder.path.parent)!r}, resume=True) to go on from there."
        )
