"""Two revisions beside each other on this machine: what has become slower?

``python -m benchmarks.compare REF`` takes the package as it was at REF, builds it in a folder of its own, and has it do
the same workloads as the present sources, in turn, each in a process of its own. Both are driven by the present
benchmarks and checked by them; what the older revision cannot do yet is shown and not compared. The exit status is 1 if
some work takes more than a tenth longer than it did or gives a wrong answer, 2 if there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from benchmarks.measuring import Setting
from benchmarks.reporting import Row, duration, plain_table
from benchmarks.results import FOLDER, REPOSITORY
from benchmarks.serving import NothingToCompare, Worker, last_line
from benchmarks.workloads import chosen

#: A tenth longer is slower.
LIMIT = 1.10
#: What is suspected of being slower is measured again, in new processes, up to so many times.
SECOND_LOOKS = 2
HEAD: Row = ("workload", "before", "now", "now / before", "verdict")
BUILDS = REPOSITORY / "build" / "revisions"
#: What it takes to build the package.
SOURCES = ("src", "setup.py", "pyproject.toml", "README.md", "LICENSE")


@dataclass
class Comparison:
    """One kind of work: the seconds of its turns before and now.

    Attributes
    ----------
    name : str
    before, now : list of float
    trouble : str
        Why one of them did not take part.
    is_broken : bool
        Whether it is the present sources that did not, while the others did.
    """

    name: str
    before: list[float] = field(default_factory=list)
    now: list[float] = field(default_factory=list)
    trouble: str = ""
    is_broken: bool = False

    @property
    def ratio(self) -> float:
        """The median turn now over the median turn before."""
        return statistics.median(self.now) / statistics.median(self.before)

    @property
    def is_slower(self) -> bool:
        """Whether both the median and the fastest turn take longer: a busy moment leaves the fastest alone."""
        return not self.trouble and min(self.ratio, min(self.now) / min(self.before)) > LIMIT

    def row(self) -> Row:
        """As the table shows it."""
        if self.trouble:
            return (self.name, "", "", "", self.trouble)
        verdict = "SLOWER" if self.is_slower else "faster" if self.ratio < 1.0 / LIMIT else "same"
        times = (duration(statistics.median(self.before)), duration(statistics.median(self.now)))
        return (self.name, *times, f"{self.ratio:.2f}", verdict)


def resolve(ref: str) -> str:
    """The commit that a name stands for."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode:
        raise NothingToCompare(f"{ref!r} names no commit of this repository. Give a branch, a tag or a commit.")
    return found.stdout.strip()


def build(commit: str, folder: Path = BUILDS) -> Path:
    """The ``src`` folder of a commit with its kernels compiled; kept for the next time."""
    home = folder / commit[:12]
    done = home / ".built"
    if done.exists():
        return home / "src"
    archive = subprocess.run(["git", "archive", commit, *SOURCES], cwd=REPOSITORY, capture_output=True, check=False)
    if archive.returncode:
        raise NothingToCompare(f"{commit[:12]} has no package to build: {archive.stderr.decode().strip()}")
    home.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as packed:
        packed.extractall(home, filter="data")
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    made = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if made.returncode:
        raise NothingToCompare(f"{commit[:12]} cannot be built: {last_line(made.stderr)}")
    done.touch()
    return home / "src"


@contextmanager
def both(workload: str, setting: Setting, before: Path, now: Path) -> Iterator[tuple[Worker, Worker]]:
    """A worker for each revision, one started after the other so that their checks do not disturb each other."""
    with ExitStack() as stack:
        pair = []
        for src in (before, now):
            worker = Worker(workload, setting, src)
            stack.callback(worker.close)
            pair.append(worker)
        yield pair[0], pair[1]


def compare(workload: str, setting: Setting, before: Path, now: Path, turns: int) -> list[Comparison]:
    """Measure one workload with both; suspects again, in other processes, whose memory lies elsewhere."""
    found: list[Comparison] = []
    for look in range(1 + SECOND_LOOKS):
        with both(workload, setting, before, now) as (old, new):
            if not found:
                told = zip(old.hello["contests"], new.hello["contests"], strict=True)
                found = [_greet(before, now) for before, now in told]
            for number, one in enumerate(found):
                if not one.trouble and (look == 0 or one.is_slower):
                    _take_turns(one, number, old, new, turns)
        if not any(one.is_slower for one in found):
            break
    return found


def _take_turns(one: Comparison, number: int, old: Worker, new: Worker, turns: int) -> None:
    for turn in range(turns):
        # Whoever came first comes last next time.
        order = [(old, one.before), (new, one.now)]
        for worker, seconds in order if turn % 2 == 0 else order[::-1]:
            seconds.append(worker.turn(number))


def _greet(before: dict[str, str], now: dict[str, str]) -> Comparison:
    for when, told in (("before", before), ("now", now)):
        if told["status"] != "ok":
            return Comparison(now["name"], trouble=f"{told['status']} {when}: {told['note']}", is_broken=when == "now")
    return Comparison(now["name"])


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser("python -m benchmarks.compare", description=__doc__)
    parser.add_argument("ref", help="branch, tag or commit to compare the present sources with")
    parser.add_argument("workloads", nargs="*", help="first letters of the workloads; all of them without")
    parser.add_argument("--scale", type=float, default=0.25, help="share of the rows of each workload (default 0.25)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=7, help="turns that each takes (default 7)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where compare.json is written")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Compare; return the exit status."""
    asked = parse(arguments)
    setting = Setting(asked.scale, asked.threads, with_rivals=False)
    try:
        commit = resolve(asked.ref)
        before, now = build(commit), REPOSITORY / "src"
    except NothingToCompare as reason:
        print(reason, file=sys.stderr)
        return 2
    print(f"before: {asked.ref} ({commit[:12]}); now: the sources as they lie here", flush=True)
    everything: list[Comparison] = []
    for workload in chosen(asked.workloads):
        try:
            found = compare(workload, setting, before, now, asked.turns)
        except NothingToCompare as reason:
            found = [Comparison(workload, trouble=f"not compared: {reason}")]
        everything += found
        print(plain_table(HEAD, [one.row() for one in found]), flush=True)
    asked.folder.mkdir(parents=True, exist_ok=True)
    content = [{"name": one.name, "before": one.before, "now": one.now, "trouble": one.trouble} for one in everything]
    (asked.folder / "compare.json").write_text(json.dumps({"before": commit, "contests": content}, indent=1) + "\n")
    slower = [one.name for one in everything if one.is_slower]
    broken = [one.name for one in everything if one.is_broken]
    if slower:
        print(f"\nMore than {100 * (LIMIT - 1):.0f} % slower than {asked.ref}: {'; '.join(slower)}")
    if broken:
        print(f"\nWorked at {asked.ref} and does no more: {'; '.join(broken)}")
    if all(one.trouble for one in everything):
        print("Nothing could be compared.", file=sys.stderr)
        return 2
    return int(bool(slower or broken))


if __name__ == "__main__":
    sys.exit(main())
