"""What a fit has come to so far, so that another process can take it up.

A fit is a deterministic program whose costly parts are runs of the loop and a few things made from all rows (starts,
folds). Each of these parts has a *place*, a name that says what it is whatever the order and the number of threads
("start 3", "end"). A journal keeps by place what a part has come to; a fit that is begun again asks the journal
first, so it repeats only the cheap decisions between the parts, and continues to the same bits.

The journals that write to disk are in :mod:`softcount.persist.checkpoints`; without one, :data:`NO_JOURNAL` keeps
nothing and costs nothing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy.sparse import issparse

__all__ = [
    "CURRENT",
    "FITTING",
    "NO_JOURNAL",
    "Journal",
    "Record",
    "digest_of",
    "number_for",
    "once",
    "rows_digest",
    "settled_seed",
    "way_on",
]

T = TypeVar("T")

#: What is kept of a part: plain values, arrays, and the classes model files may hold.
Record = dict[str, Any]

#: A digest looks at so many chunks, and at so many rows of an array (at fewer than twice as many, to be exact).
LOOKS = 16
MOST_SAMPLED = 2048


class Journal(Protocol):
    """Where a fit, or a part of it, writes down what it has come to."""

    def part(self, name: str) -> Journal:
        """The journal of a part; ``name`` says what it is, not when it was begun."""
        ...

    def recall(self) -> Record | None:
        """What this part had come to when it was written down last."""
        ...

    def keep(self, record: Callable[[], Record], *, finished: bool, now: bool = False) -> None:
        """Note what this part has come to; it is written when that is due, or ``now``."""
        ...

    def bind(self, digest: Callable[[], str]) -> None:
        """Make sure that the fit is about the data that it was begun with; what is bound first counts."""
        ...

    @property
    def advice(self) -> str:
        """How an interrupted fit is taken up."""
        ...


class _NoJournal:
    """Keeps nothing."""

    advice = ""

    def part(self, name: str) -> Journal:
        return self

    def recall(self) -> Record | None:
        return None

    def keep(self, record: Callable[[], Record], *, finished: bool, now: bool = False) -> None:
        return

    def bind(self, digest: Callable[[], str]) -> None:
        return


NO_JOURNAL: Journal = _NoJournal()

#: The estimator that is being fitted, and the journal of that fit.
CURRENT: ContextVar[tuple[Any, Journal]] = ContextVar("softcount_current_fit", default=(None, NO_JOURNAL))
#: What gives every fit that begins its journal.
FITTING: ContextVar[Callable[[Any], Journal] | None] = ContextVar("softcount_fitting", default=None)


def way_on() -> str:
    """How the fit that is being made is taken up after an interruption, as the end of a message."""
    return CURRENT.get()[1].advice


def once(journal: Journal, make: Callable[[], T]) -> T:
    """What ``make`` gives, which is made once and then remembered.

    Parameters
    ----------
    journal : Journal
        Of this part.
    make : callable
    """
    found = journal.recall()
    if found is not None:
        value: T = found["value"]
        return value
    value = make()
    journal.keep(lambda: {"value": value}, finished=True)
    return value


# ---- the position of random numbers
def number_for(journal: Journal, seed: Any) -> Any:
    """The seed; in place of ``None`` a number that is drawn once and then remembered.

    Parameters
    ----------
    journal : Journal
        Of the number.
    seed : object
    """
    if seed is not None or journal is NO_JOURNAL:
        return seed
    return once(journal, lambda: secrets.randbits(32))


def settled_seed(journal: Journal, seed: Any) -> Any:
    """The seed; a stream is put where it was when a fit that is taken up was begun.

    Parameters
    ----------
    journal : Journal
        Of the seed.
    seed : int, numpy Generator, numpy RandomState or None
    """
    if journal is NO_JOURNAL or not isinstance(seed, np.random.RandomState | np.random.Generator):
        return seed
    found = journal.recall()
    if found is None:
        found = _position(seed)
        journal.keep(lambda: found, finished=True)
        return seed
    if isinstance(seed, np.random.RandomState):
        seed.set_state(found["state"])
        return seed
    source = np.random.SeedSequence(
        found["entropy"], spawn_key=found["spawn_key"], n_children_spawned=found["n_children"]
    )
    restored = np.random.Generator(type(seed.bit_generator)(source))
    restored.bit_generator.state = found["state"]
    return restored


def _position(stream: Any) -> Record:
    if isinstance(stream, np.random.RandomState):
        return {"state": stream.get_state(legacy=False)}
    source: Any = stream.bit_generator.seed_seq
    return {
        "state": stream.bit_generator.state,
        "entropy": source.entropy,
        "spawn_key": tuple(source.spawn_key),
        "n_children": source.n_children_spawned,
    }


# ---- which data a fit is about
def rows_digest(rows: Any) -> str:
    """A short text that other rows would not have, from how many there are and from some of the chunks.

    Parameters
    ----------
    rows : softcount.core.chunks.Rows
        Of rows that are not in memory the first chunk alone is looked at.
    """
    n_chunks = len(rows)
    looks = {round(i * (n_chunks - 1) / (LOOKS - 1)) for i in range(LOOKS)} if hasattr(rows, "blocks") else {0}
    return digest_of(rows.n_rows, n_chunks, *(rows[index] for index in sorted(looks)))


def digest_of(*values: Any) -> str:
    """A short text that other values would not have, from types, sizes, and cells here and there."""
    found = hashlib.sha256()
    for value in values:
        _add(found, value)
    return found.hexdigest()[:32]


def _add(found: Any, value: Any) -> None:
    """Add the content of a value, whatever it is made of."""
    if isinstance(value, np.ndarray):
        found.update(f"{value.dtype.str}{value.shape}".encode())
        n_rows = value.shape[0] if value.ndim else 1
        sample = value if n_rows < 2 * MOST_SAMPLED else value[:: n_rows // MOST_SAMPLED]
        text = repr(sample.tolist()).encode() if value.dtype.kind == "O" else np.ascontiguousarray(sample).tobytes()
        found.update(text)
    elif issparse(value):
        for name in ("shape", "data", "indices", "indptr"):
            _add(found, getattr(value, name))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _add(found, getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _add(found, key)
            _add(found, item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _add(found, item)
    elif value is None or isinstance(value, (bool, int, float, str, slice)):
        found.update(repr(value).encode())
