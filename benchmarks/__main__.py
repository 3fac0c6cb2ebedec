"""Every workload beside its rivals, in the same run; the table of ratios against goals.

Each workload runs in a process of its own. Results lie in out/benchmarks, a JSON file for each workload, and in
out/benchmarks/table.md; a workload that is run again replaces its own results only. The exit status is 1 if somebody's
answer was wrong or a workload broke down; a missed goal is shown, and no failure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.measuring import Outcome, Setting
from benchmarks.pages import SECTIONS, TIMES, page_of, readme_with, sections_of
from benchmarks.reporting import (
    HEAD,
    LIMIT_HEAD,
    MEMORY_HEAD,
    limit_rows,
    markdown_table,
    memory_rows,
    notes,
    plain_table,
    ratio_rows,
)
from benchmarks.results import FOLDER, REPOSITORY, Measured, describe_machine
from benchmarks.workloads import WORKLOADS, chosen

PAGE = REPOSITORY / "docs" / "explanation" / "performance-measured.md"
README = REPOSITORY / "README.md"
QUICK = 0.05


def call_worker(what: str, workload: str, setting: Setting, *more: str) -> tuple[object, str]:
    """What a worker's last line says, and its complaint if it broke down."""
    command = [sys.executable, "-m", "benchmarks.worker", what, workload]
    command += ["--scale", str(setting.scale), "--threads", str(setting.threads), *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return None, f"exit status {done.returncode}: {lines[-1] if lines else 'it said nothing'}"
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def measure(workload: str, setting: Setting, turns: int, patience: float, *, memory: bool) -> Measured:
    """Times of a workload, then memory where a limit is set."""
    settings = {"scale": setting.scale, "threads": setting.threads}
    found, error = call_worker("times", workload, setting, "--turns", str(turns), "--patience", str(patience))
    measured = Measured(workload, settings, error=error, machine=describe_machine())
    if not isinstance(found, list):
        return measured
    measured.outcomes = [Outcome.from_dict(outcome) for outcome in found]
    if memory:
        add_memory(measured, setting)
    return measured


def add_memory(measured: Measured, setting: Setting) -> None:
    """Measure the memory of everybody who gave a right answer, where a limit is set."""
    for which, outcome in enumerate(measured.outcomes):
        for timing in (outcome.ours, *outcome.rivals):
            if outcome.memory_limit_mb is not None and timing.status == "ok":
                asked = ("--which", str(which), "--name", timing.name)
                extra, error = call_worker("memory", measured.workload, setting, *asked)
                timing.extra_mb = extra if isinstance(extra, float) else None
                timing.note += f"; memory: {error}" if error else ""


def show(measured: Measured) -> None:
    """Print what a workload gave."""
    rows = [row for outcome in measured.outcomes for row in ratio_rows(outcome)]
    if rows:
        print(plain_table(HEAD, rows))
    memory = [row for outcome in measured.outcomes for row in memory_rows(outcome)]
    if memory:
        print(plain_table(MEMORY_HEAD, memory))
    limits = [row for outcome in measured.outcomes for row in limit_rows(outcome)]
    if limits:
        print(plain_table(LIMIT_HEAD, limits))
    for outcome in measured.outcomes:
        for note in notes(outcome):
            print(f"  {note}")
    if measured.error:
        print(f"ERROR: {measured.workload} broke down: {measured.error}")
    sys.stdout.flush()


def collected(folder: Path) -> list[Measured]:
    """All results in a folder, in the order of the table."""
    return [Measured.load(path) for name in WORKLOADS if (path := folder / f"{name}.json").exists()]


def scaling_table(folder: Path) -> str:
    """What `make bench-scaling` left, as Markdown; nothing where it has not run."""
    from benchmarks.scaling import HEAD as SCALING_HEAD
    from benchmarks.scaling import collected as climbs

    rows = [found.row() for found in climbs(folder / "scaling")]
    return markdown_table(SCALING_HEAD, rows) if rows else ""


def _update_documentation(everything: list[Measured], sections: dict[str, str], wanted: Sequence[str]) -> None:
    """Write the sections wanted that there are results for; the README's table with the times."""
    chosen_ones = {name: text for name, text in sections.items() if name in wanted}
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page_of(chosen_ones, before), encoding="utf-8")
    print(f"{PAGE.name}: {', '.join(chosen_ones) or 'nothing'} anew, the rest as it was")
    if TIMES in wanted:
        old = README.read_text(encoding="utf-8")
        new = readme_with(old, everything)
        README.write_text(new, encoding="utf-8")
        print(f"{README.name}: {'as it was' if new == old else 'table of times anew'}")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"first letters of some of: {', '.join(WORKLOADS)}")
    parser.add_argument("--quick", action="store_true", help=f"{100 * QUICK:g} percent of the data, three turns")
    parser.add_argument("--scale", type=float, help="share of the rows of each workload")
    parser.add_argument("--threads", type=int, default=2, help="threads of everybody (default 2)")
    parser.add_argument("--turns", type=int, help="turns that each takes (default 5)")
    parser.add_argument("--patience", type=float, default=10.0, help="seconds after which one takes no further turn")
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory; --quick does not")
    parser.add_argument("--only-memory", action="store_true", help="measure memory alone, beside times in the folder")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results are written")
    parser.add_argument("--only-report", action="store_true", help="measure nothing, show what lies in the folder")
    parser.add_argument("--update-docs", action="store_true", help=f"write {PAGE.name} and the README")
    parser.add_argument(
        "--section", action="append", choices=SECTIONS, help="only this section of the documentation; may be repeated"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; return the exit status."""
    asked = parse(arguments)
    setting = Setting(asked.scale or (QUICK if asked.quick else 1.0), asked.threads)
    began, failed = time.perf_counter(), False
    if setting.scale != 1.0:
        print("Goals are for data of the full size; on less, what a call costs besides the arithmetic weighs more.")
    if not asked.only_report:
        for workload in chosen(asked.workloads):
            print(f"\n== {workload}", flush=True)
            if asked.only_memory:
                measured = Measured.load(asked.folder / f"{workload}.json")
                add_memory(measured, setting)
            else:
                turns = asked.turns or (3 if asked.quick else 5)
                with_memory = not (asked.no_memory or asked.quick)
                measured = measure(workload, setting, turns, asked.patience, memory=with_memory)
            measured.save(asked.folder)
            show(measured)
            failed |= measured.failed
    everything = collected(asked.folder)
    if not everything:
        raise SystemExit(f"There are no results in {asked.folder}.")
    if asked.only_report:
        for measured in everything:
            show(measured)
    sections = sections_of(everything, scaling_table(asked.folder))
    (asked.folder / "table.md").write_text(page_of(sections), encoding="utf-8")
    (asked.folder / "all.json").write_text(
        json.dumps([asdict(measured) for measured in everything], indent=1) + "\n", encoding="utf-8"
    )
    if asked.update_docs:
        _update_documentation(everything, sections, asked.section or SECTIONS)
    print(f"\n{time.perf_counter() - began:.0f} s; results are in {asked.folder}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
