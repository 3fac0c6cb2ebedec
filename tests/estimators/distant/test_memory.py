"""A file larger than the memory that a process may take is learned from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from studies.streams.memory import COLUMNS, FITS, LIMITED, write

pytest.importorskip("pyarrow")
MIB = 2**20
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells the peak")


def test_a_file_larger_than_the_limit_is_learned_from(tmp_path):
    path = tmp_path / "rows.parquet"
    path.touch()
    write(path, 300 * MIB)
    code = LIMITED.format(columns=COLUMNS, fit=FITS["GaussianNB"])
    done = subprocess.run(
        [sys.executable, "-c", code, str(230 * MIB), str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
    )
    path.unlink()
    assert done.returncode == 0, done.stderr
    _, before, peak, _, _ = map(float, done.stdout.split())
    assert peak - before < 230 * MIB
