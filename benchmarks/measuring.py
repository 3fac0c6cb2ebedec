"""Times of softcount and its rivals on the same work, in turn, each only after its answer has been checked.

A *contest* is one kind of work on one set of data. Its *contestants* do that work; ``distance`` says how far what one
of them returned lies from the reference, and a contestant beyond its tolerance is not timed: it is an error. They take
turns, so that a busy moment of the machine hits all of them, and the median of the turns counts.
"""

from __future__ import annotations

import gc
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

OURS = "softcount"


class TooSlow(Exception):  # noqa: N818  (says what happened, and is no error of the run)
    """A contestant did not come to a right answer within the patience there is."""


@dataclass(frozen=True)
class Setting:
    """How large the work is, and how many threads everybody has."""

    scale: float = 1.0
    threads: int = 2
    #: Off where only softcount is to be run, so that no rival need be imported.
    with_rivals: bool = True

    def rows(self, full: int, least: int = 200) -> int:
        """A number of rows at this scale."""
        return max(int(full * self.scale), min(full, least))


@dataclass(frozen=True)
class Goal:
    """How many times faster than the rival softcount is to be."""

    at_least: float
    aim: float | None = None


@dataclass(frozen=True)
class Contestant:
    """Somebody who does the work of a contest.

    Attributes
    ----------
    name : str
    run : callable
        Does the work. Called with a number of iterations if ``iterations`` is given.
    distance : callable
        From what ``run`` returned, how far it is from the reference; not timed.
    tolerance : float
        The largest distance allowed.
    iterations : (int, int), optional
        Few and many; the time of one iteration is the slope between them, so that reading and starting do not count.
    goal : Goal, optional
        What softcount is to reach against this rival.
    prepare : callable, optional
        Called once before the first run, such as the search for the loosest tolerance that is exact enough.
    remark : callable, optional
        Called after the check; what it returns is printed beside the row.
    tells_time : bool
        Whether ``run`` returns the seconds that count, because some of what it does is not to be timed.
    """

    name: str
    run: Callable[..., Any]
    distance: Callable[[Any], float]
    tolerance: float
    iterations: tuple[int, int] | None = None
    goal: Goal | None = None
    prepare: Callable[[], object] | None = None
    remark: Callable[[], str] | None = None
    tells_time: bool = False


@dataclass(frozen=True)
class Absent:
    """A rival that cannot take part, and why."""

    name: str
    reason: str
    goal: Goal | None = None


@dataclass(frozen=True)
class Contest:
    """One kind of work on one set of data.

    Attributes
    ----------
    name : str
    ours : Contestant
    rivals : tuple of Contestant or Absent
    checked_iterations : int
        As many iterations are run before answers are compared.
    calls : int
        How often the work is done in one turn; the time of one call is reported.
    memory_limit_mb : float, optional
        Most memory that a fit may need above the data. Measured, for everybody, where given.
    seconds_limit : float, optional
        Most time that softcount may take, where it is that and no rival that counts.
    """

    name: str
    ours: Contestant
    rivals: tuple[Contestant | Absent, ...] = ()
    checked_iterations: int = 5
    calls: int = 1
    memory_limit_mb: float | None = None
    seconds_limit: float | None = None


@dataclass
class Timing:
    """What was measured of one contestant."""

    name: str
    status: str = "ok"
    seconds: float | None = None
    fastest: float | None = None
    slowest: float | None = None
    turns: int = 0
    distance: float | None = None
    tolerance: float | None = None
    note: str = ""
    goal: Goal | None = None
    extra_mb: float | None = None


@dataclass
class Outcome:
    """What was measured of one contest."""

    name: str
    per_iteration: bool
    ours: Timing
    rivals: list[Timing]
    memory_limit_mb: float | None = None
    seconds_limit: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Outcome:
        """The outcome that ``as_dict`` described."""
        ours, *rivals = (
            Timing(**{**timing, "goal": Goal(**timing["goal"]) if timing["goal"] else None})
            for timing in (data["ours"], *data["rivals"])
        )
        return cls(
            data["name"], data["per_iteration"], ours, rivals, data["memory_limit_mb"], data.get("seconds_limit")
        )

    @property
    def failed(self) -> bool:
        """Whether somebody's answer was wrong, or somebody broke down."""
        return any(timing.status in ("disagrees", "failed") for timing in (self.ours, *self.rivals))


def rival(name: str, package: str, build: Callable[[], Contestant], goal: Goal | None = None) -> Contestant | Absent:
    """Build a rival, or say why it cannot take part.

    Parameters
    ----------
    name : str
        As the table shows it; the version of ``package`` is added.
    package : str
        The distribution that has to be installed.
    build : callable
        Imports what it needs and returns the contestant.
    goal : Goal, optional
        Kept for the table if the rival is absent.
    """
    try:
        return build()
    except ImportError as error:
        try:
            why = f"{package} {version(package)} cannot be imported: {error}"
        except PackageNotFoundError:
            why = f"{package} is not installed"
        return Absent(name, why, goal)


def relative_distance(found: Any, expected: Any) -> float:
    """Largest difference, relative to the largest expected value."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if found.shape != expected.shape:
        return float("inf")
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Give BLAS, OpenMP and, where it is loaded, PyTorch as many threads as softcount gets."""
    import sys

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rivals that stop early say so; here that is intended
        yield


def check(contestant: Contestant, contest: Contest) -> Timing:
    """Let a contestant do the work once and compare its answer."""
    timing = Timing(contestant.name, tolerance=contestant.tolerance, goal=contestant.goal)
    try:
        if contestant.prepare is not None:
            contestant.prepare()
        answer = contestant.run(contest.checked_iterations) if contestant.iterations else contestant.run()
        timing.distance = float(contestant.distance(answer))
        if contestant.remark is not None:
            timing.note = contestant.remark()
    except TooSlow as reason:
        timing.status, timing.note = "too slow", str(reason)
        return timing
    except Exception as error:  # a rival that breaks down must not end the others' run, but is reported as an error
        timing.status, timing.note = "failed", f"{type(error).__name__}: {error}"
        return timing
    if not timing.distance <= contestant.tolerance:  # so that NaN is refused as well
        timing.status = "disagrees"
        timing.note = f"answer is {timing.distance:.1e} from the reference, {contestant.tolerance:.0e} is allowed"
    return timing


def one_turn(contestant: Contestant, calls: int = 1) -> float:
    """Seconds of one call, or of one iteration."""
    if contestant.tells_time:
        return float(contestant.run())
    if contestant.iterations is None:
        began = time.perf_counter()
        for _ in range(calls):
            contestant.run()
        return (time.perf_counter() - began) / calls
    few, many = contestant.iterations
    began = time.perf_counter()
    contestant.run(few)
    between = time.perf_counter()
    contestant.run(many)
    return ((time.perf_counter() - between) - (between - began)) / (many - few)


def hold(contest: Contest, threads: int, *, turns: int = 5, patience: float = 10.0) -> Outcome:
    """Check everybody, then time those who are right in turn.

    Parameters
    ----------
    contest : Contest
    threads : int
    turns : int
        How many turns each takes.
    patience : float
        Seconds; somebody who has used them up takes no further turn, and the table says how many turns there were.
    """
    present = [contest.ours, *(one for one in contest.rivals if isinstance(one, Contestant))]
    with limited_threads(threads):
        timings = {one.name: check(one, contest) for one in present}
        seconds: dict[str, list[float]] = {one.name: [] for one in present}
        spent = dict.fromkeys(seconds, 0.0)
        for turn in range(turns):
            # Whoever came first comes last next time: what one leaves in the caches then helps nobody in particular.
            for one in present if turn % 2 == 0 else present[::-1]:
                if timings[one.name].status == "ok" and spent[one.name] < patience:
                    gc.collect()
                    began = time.perf_counter()
                    seconds[one.name].append(one_turn(one, contest.calls))
                    spent[one.name] += time.perf_counter() - began
    for name, measured in seconds.items():
        if measured:
            timing = timings[name]
            timing.seconds, timing.turns = statistics.median(measured), len(measured)
            timing.fastest, timing.slowest = min(measured), max(measured)
            if timing.seconds <= 0.0:
                timing.status, timing.seconds = "too noisy", None
                timing.note = "more iterations took less time than few: measure again when the machine is at rest"
    absent = {
        one.name: Timing(one.name, status="absent", note=one.reason, goal=one.goal)
        for one in contest.rivals
        if isinstance(one, Absent)
    }
    everybody = timings | absent
    rivals = [everybody[one.name] for one in contest.rivals]
    return Outcome(contest.name, contest.ours.iterations is not None, timings[contest.ours.name], rivals,
                   contest.memory_limit_mb, contest.seconds_limit)  # fmt: skip
