"""A process of its own for one workload: ``python -m benchmarks.worker {times,memory,serve} WORKLOAD …``.

A clean process has nobody else's memory and threads in it, and may crash without taking the other workloads along.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import softcount
from benchmarks.measuring import Contest, Contestant, Setting, check, hold, limited_threads, one_turn
from benchmarks.memory import can_measure, extra_megabytes
from benchmarks.workloads import WORKLOADS

#: Scale at which everything is loaded and warmed up before memory is measured.
TINY = 0.005


def times(workload: str, setting: Setting, turns: int, patience: float) -> list[dict[str, Any]]:
    """Outcomes of all contests of a workload."""
    contests = WORKLOADS[workload](setting)
    return [hold(contest, setting.threads, turns=turns, patience=patience).as_dict() for contest in contests]


def memory(workload: str, setting: Setting, which: int, name: str) -> float | None:
    """Extra megabytes of one contestant's fit; None where the system cannot tell."""
    if not can_measure():
        return None
    with limited_threads(setting.threads):
        _prepared(WORKLOADS[workload](replace(setting, scale=TINY))[which], name)()
    contest = WORKLOADS[workload](setting)[which]
    with limited_threads(setting.threads):
        return extra_megabytes(_prepared(contest, name))


def _prepared(contest: Contest, name: str) -> Any:
    """The work of a contestant, a few iterations of it."""
    contestant = named(contest, name)
    if contestant.prepare is not None:
        contestant.prepare()
    if contestant.iterations is None:
        return contestant.run
    n_iter = contestant.iterations[0] + 1
    return lambda: contestant.run(n_iter)


def named(contest: Contest, name: str) -> Contestant:
    """The contestant of this name."""
    for one in (contest.ours, *contest.rivals):
        if one.name == name and isinstance(one, Contestant):
            return one
    raise SystemExit(f"No contestant {name!r} in {contest.name!r}.")


def serve(workload: str, setting: Setting, source: TextIO, sink: TextIO) -> None:
    """Answer each line, the number of a contest, with the seconds of one turn of softcount; first say what there is."""

    def say(content: object) -> None:
        sink.write(json.dumps(content) + "\n")
        sink.flush()

    contests = WORKLOADS[workload](replace(setting, with_rivals=False))
    with limited_threads(setting.threads):
        checked = [check(contest.ours, contest) for contest in contests]
        say(
            {
                "package": str(Path(softcount.__file__).parent),
                "contests": [
                    {"name": contest.name, "status": timing.status, "note": timing.note}
                    for contest, timing in zip(contests, checked, strict=True)
                ],
            }
        )
        for line in source:
            contest = contests[int(line)]
            gc.collect()
            say(one_turn(contest.ours, contest.calls))


def parser() -> argparse.ArgumentParser:
    """What the command line may say."""
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("what", choices=["times", "memory", "serve"])
    found.add_argument("workload", choices=list(WORKLOADS))
    found.add_argument("--scale", type=float, default=1.0)
    found.add_argument("--threads", type=int, default=2)
    found.add_argument("--turns", type=int, default=5)
    found.add_argument("--patience", type=float, default=10.0)
    found.add_argument("--which", type=int, default=0, help="memory: number of the contest")
    found.add_argument("--name", default="softcount", help="memory: the contestant")
    return found


def main() -> None:
    """Do what is asked; the last line printed is JSON."""
    asked = parser().parse_args()
    setting = Setting(asked.scale, asked.threads)
    if asked.what == "serve":
        serve(asked.workload, setting, sys.stdin, sys.stdout)
    elif asked.what == "memory":
        print(json.dumps(memory(asked.workload, setting, asked.which, asked.name)))
    else:
        print(json.dumps(times(asked.workload, setting, asked.turns, asked.patience)))


if __name__ == "__main__":
    main()
