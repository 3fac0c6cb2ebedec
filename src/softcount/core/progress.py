"""Progress of long fits, on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from softcount.core.iterate import Step

__all__ = ["note_printer", "step_printer", "stoppable"]


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
