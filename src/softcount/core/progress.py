"""Progress of long fits, on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from softcount.core.iterate import Step

__all__ = ["ReadingProgress", "note_printer", "step_printer", "stoppable"]

#: A pass over rows that are being read says how far it has come this often.
SECONDS_BETWEEN = 2.0


def step_printer(name: str, verbose: int) -> Callable[[Step, Any], None] | None:
    """A callback that prints every iteration (``verbose=1`` every tenth), or None when not verbose."""
    if verbose <= 0:
        return None
    every = 10 if verbose == 1 else 1

    def show(step: Step, params: Any) -> None:
        if step.iteration % every == 0 or step.iteration == 1:
            sys.stderr.write(
                f"[{name}] iteration {step.iteration:4d}  objective {step.objective:.6f}  "
                f"change {step.change:.3e}  {step.seconds:.1f} s\n"
            )
            sys.stderr.flush()

    return show


def stoppable(
    on_step: Callable[[Step, Any], None] | None, stopped: threading.Event | None
) -> Callable[[Step, Any], None] | None:
    """``on_step``, which ends the run as Ctrl-C does once somebody has set ``stopped``."""
    if stopped is None:
        return on_step

    def step(seen: Step, params: Any) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        if on_step is not None:
            on_step(seen, params)

    return step


def note_printer(name: str, verbose: int) -> Callable[[str], None] | None:
    """A callback that prints what a fit is doing beside its iterations, or None when not verbose."""
    if verbose <= 0:
        return None

    def show(text: str) -> None:
        sys.stderr.write(f"[{name}] {text}\n")
        sys.stderr.flush()

    return show


class ReadingProgress:
    """Says how far a pass over rows that are being read has come, now and then, and how long it will take.

    Parameters
    ----------
    name : str
        Who reads.
    n_rows : int or None
        How many rows there are, where that is known.
    verbose : int
        Nothing is said below 1.
    clock : callable
        Seconds.

    Examples
    --------
    >>> ReadingProgress("GaussianNB", 100, 0)(50)
    """

    def __init__(
        self, name: str, n_rows: int | None, verbose: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._name, self._n_rows, self._verbose, self._clock = name, n_rows, verbose, clock
        self._began = self._told = clock()
        self._before = 0
        self._passes = 1

    def __call__(self, n_read: int) -> None:
        """So many rows of this pass have been read; fewer than before means that another pass has begun."""
        if self._verbose <= 0:
            return
        now = self._clock()
        if n_read <= self._before:
            self._passes += 1
            self._began = now
        self._before = n_read
        if now - self._told < SECONDS_BETWEEN:
            return
        self._told = now
        rate = n_read / max(now - self._began, 1e-9)
        text = f"pass {self._passes}: {n_read:,} rows, {rate:,.0f} a second"
        if self._n_rows:
            left = max(self._n_rows - n_read, 0) / max(rate, 1e-9)
            text += f", {100.0 * n_read / self._n_rows:.0f} %, about {left:.0f} s left in this pass"
        sys.stderr.write(f"[{self._name}] {text}\n")
        sys.stderr.flush()
