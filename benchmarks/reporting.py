"""Outcomes as rows of the tables that a reader wants: ratios against goals, and memory against limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.measuring import Outcome, Timing

Row = tuple[str, ...]
HEAD: Row = ("workload", "rival", "softcount", "rival's time", "ratio", "at least", "aim", "verdict")
LIMIT_HEAD: Row = ("what", "softcount", "limit", "verdict")
MEMORY_HEAD: Row = ("fit", "softcount, MB", "limit, MB", "verdict", "rivals, MB")


def ratio_rows(outcome: Outcome) -> Iterator[Row]:
    """A row for each rival of a contest; one for softcount alone if its answer was wrong or nobody is there."""
    ours = outcome.ours
    if ours.seconds is None:
        trouble = "ERROR" if outcome.failed else _trouble(ours)
        yield (outcome.name, "", _trouble(ours), "", "", "", "", trouble)
        return
    for timing in outcome.rivals:
        goal = timing.goal
        aims = (_times(goal.at_least), _times(goal.aim)) if goal else ("", "")
        ratio = timing.seconds / ours.seconds if timing.seconds is not None else None
        # A fraction of a microsecond cannot be told from the clock's noise, nor can a slope below zero.
        shown = [duration(ours.seconds), _trouble(timing) if timing.seconds is None else duration(timing.seconds)]
        yield (outcome.name, timing.name, *shown, _times(ratio), *aims, verdict(timing, ratio))


def verdict(timing: Timing, ratio: float | None) -> str:
    """Whether the goal against this rival is met."""
    if timing.status in ("disagrees", "failed"):
        return "ERROR"
    if timing.status == "too slow":
        return "rival too slow"
    if ratio is None:
        return timing.status
    if timing.goal is None:
        return ""
    if ratio < timing.goal.at_least:
        return "MISSED"
    return "aim met" if timing.goal.aim is not None and ratio >= timing.goal.aim else "met"


def memory_rows(outcome: Outcome) -> Iterator[Row]:
    """One row if memory was measured."""
    if outcome.memory_limit_mb is None or outcome.ours.extra_mb is None:
        return
    rivals = [f"{timing.name} {timing.extra_mb:.0f}" for timing in outcome.rivals if timing.extra_mb is not None]
    kept = "met" if outcome.ours.extra_mb <= outcome.memory_limit_mb else "MISSED"
    yield (outcome.name, f"{outcome.ours.extra_mb:.0f}", f"{outcome.memory_limit_mb:.0f}", kept, ", ".join(rivals))


def limit_rows(outcome: Outcome) -> Iterator[Row]:
    """One row if there is a limit to the time."""
    if outcome.seconds_limit is None or outcome.ours.seconds is None:
        return
    kept = "met" if outcome.ours.seconds <= outcome.seconds_limit else "MISSED"
    yield (outcome.name, duration(outcome.ours.seconds), duration(outcome.seconds_limit), kept)


def notes(outcome: Outcome) -> Iterator[str]:
    """What a reader has to know besides the numbers."""
    for timing in (outcome.ours, *outcome.rivals):
        if timing.note:
            yield f"{outcome.name}: {timing.name}: {timing.note}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def markdown_table(head: Row, rows: Iterable[Row]) -> str:
    """A table as Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def plain_table(head: Row, rows: list[Row]) -> str:
    """A table for a terminal, columns aligned; a name that repeats is shown once."""
    widths = [max(len(line[j]) for line in (head, *rows)) for j in range(len(head))]
    lines, above = [], ""
    for line in (head, *rows):
        shown = ("", *line[1:]) if line[0] == above else line
        above = line[0]
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(shown, widths, strict=True)).rstrip())
    return "\n".join(lines)


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"


def _trouble(timing: Timing) -> str:
    return timing.status
