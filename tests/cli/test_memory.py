"""Files larger than the memory there is: prediction gets by with what one piece takes, training says what it lacks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MIB = 2**20
#: Runs the command with an address space of so many bytes (0: any), and says how much of it was taken.
LIMITED = """
import resource, sys
from softcount.cli.program import run
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
code = run(sys.argv[2:])
with open("/proc/self/status") as status:
    peak = next(line.split()[1] for line in status if line.startswith("VmPeak"))
sys.stderr.write(f"peak {peak}")
sys.exit(code)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells the peak")


def a_table(path: Path, megabytes: int) -> None:
    """A table of texts with so many megabytes, labels in every other row."""
    line = "win a free prize, claim your money now and " * 20
    n_rows = megabytes * MIB // (len(line) + 10)
    with path.open("w", encoding="ascii") as file:
        file.write("text,label\n")
        file.writelines(f'"{i} {line}",{"spam" if i % 2 else "ham"}\n' for i in range(n_rows))


def run_limited(folder: Path, limit: int, *arguments: object) -> tuple[int, str]:
    """Exit code and standard error."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
        check=False,
        timeout=300,
    )
    return done.returncode, done.stderr


def test_a_file_much_larger_than_the_memory_left_is_predicted(tmp_path: Path, trained: Path) -> None:
    a_table(tmp_path / "small.csv", 17)
    a_table(tmp_path / "large.csv", 70)
    more = ("--jobs", 1, "--only-answers", "-o")
    code, told = run_limited(tmp_path, 0, "predict", trained, "small.csv", *more, "small.out.csv")
    assert code == 0, told
    limit = int(told.split()[-1]) * 1024 + 30 * MIB
    code, told = run_limited(tmp_path, limit, "predict", trained, "large.csv", *more, "large.out.csv")
    assert code == 0, told
    with (tmp_path / "large.csv").open() as asked, (tmp_path / "large.out.csv").open() as answered:
        assert sum(1 for _ in asked) == sum(1 for _ in answered)
    # The limit is one that reading the whole file breaks.
    code, told = run_limited(tmp_path, limit, "train", "large.csv", "-q", "--jobs", 1)
    assert code == 1, told
    assert "There is not enough memory for this." in told
    assert not (tmp_path / "large.softcount").exists()
    assert not list(tmp_path.glob(".*"))
