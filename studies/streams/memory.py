"""A file several times larger than memory: ``python -m studies.streams.memory [--gigabytes 4 --limit 0.5]``.

A Parquet file of random numbers is written to a temporary folder, piece by piece. Then processes learn from it whose
address space may not grow by more than the limit (RLIMIT_AS) once Python and the libraries are loaded. What is printed
says by how much it did grow; thread stacks, of which most is never touched, count as well.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = 40
GROUP_ROWS = 200_000
GIB = 2**30
#: A process that cannot even start a thread may wait for ever.
SECONDS = 3600

FITS = {
    "GaussianNB": "softcount.GaussianNB(n_jobs=2).fit(path, 'y')",
    "GaussianNB, some labels": (
        "softcount.GaussianNB(n_jobs=2, unlabeled_weight=1.0, max_iter=3, tol=0.0).fit(lambda: batches(path, 10))"
    ),
    "LogisticRegression": "softcount.LogisticRegression(n_jobs=2, C=1e-3, tol=1e-6).fit(path, 'y')",
    "GaussianMixture": (
        "softcount.GaussianMixture(3, covariance_type='diag', init_params='random_from_data', max_iter=3, n_jobs=2, "
        "random_state=0).fit(lambda: batches(path, 0))"
    ),
}
#: Fits in a limited process, and says what of the limit was taken before and at most.
LIMITED = """
import resource, sys, time, warnings
limit, path = int(sys.argv[1]), sys.argv[2]
import numpy, scipy.sparse, sklearn, pyarrow.parquet, pyarrow.dataset, pyarrow.compute, softcount
from softcount import GaussianNB, LogisticRegression, GaussianMixture
warnings.simplefilter("ignore")
pyarrow.set_cpu_count(1)
def taken(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))
def batches(path, every):
    names = [f"c{{j}}" for j in range({columns})]
    rows = pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**20)
    for part in rows.iter_batches(batch_size=16384):
        labels = pyarrow.compute.equal(part.column("y"), "yes").cast("float64").to_numpy()
        X = part.select(names)
        yield (X, numpy.where(numpy.arange(len(part)) % every, numpy.nan, labels)) if every else X
softcount.GaussianNB(n_jobs=2).fit([(numpy.zeros((9, 2)), numpy.arange(9) % 2)])
before, resident = taken("VmSize"), taken("VmRSS")
resource.setrlimit(resource.RLIMIT_AS, (before + limit, before + limit))
began = time.perf_counter()
model = {fit}
print(time.perf_counter() - began, before, taken("VmPeak"), resident, taken("VmHWM"))
"""


def write(path: Path, size: float) -> int:
    """Rows of two classes, until the file is that large; how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([*[(f"c{j}", pa.float64()) for j in range(COLUMNS)], ("y", pa.string())])
    n_rows = 0
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        while path.stat().st_size < size:
            z = rng.integers(0, 2, GROUP_ROWS)
            X = rng.normal(size=(GROUP_ROWS, COLUMNS)) + 0.1 * z[:, None]
            columns = [*[X[:, j] for j in range(COLUMNS)], np.array(["no", "yes"])[z]]
            writer.write_table(pa.table(columns, schema=schema))
            n_rows += GROUP_ROWS
    return n_rows


def main() -> int:
    """Write the file, fit, and say what was taken."""
    parser = argparse.ArgumentParser(prog="python -m studies.streams.memory", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--limit", type=float, default=0.5, help="gigabytes that a process may grow by")
    parser.add_argument("--fits", nargs="+", choices=list(FITS), default=list(FITS))
    parser.add_argument("--folder", default=None, help="where the file is written for the time of the run")
    args = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = Path(folder) / "rows.parquet"
        began = time.perf_counter()
        n_rows = write(path, args.gigabytes * GIB)
        size = path.stat().st_size
        sys.stdout.write(
            f"{size / GIB:.2f} GiB, {n_rows:,} rows of {COLUMNS} numbers and a label, written in "
            f"{time.perf_counter() - began:.0f} s; the limit is {args.limit:g} GiB, "
            f"{size / GIB / args.limit:.1f} times less\n"
        )
        sys.stdout.flush()
        for name in args.fits:
            code = LIMITED.format(columns=COLUMNS, fit=FITS[name])
            done = subprocess.run(
                [sys.executable, "-c", code, str(round(args.limit * GIB)), str(path)],
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
                env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "PATH": ""},
            )
            if done.returncode:
                sys.stdout.write(f"{name}: failed\n{done.stderr[-2000:]}\n")
                failed = True
                continue
            seconds, before, peak, resident, most = map(float, done.stdout.split())
            sys.stdout.write(
                f"{name:23} {seconds:6.0f} s; address space grew by {(peak - before) / 2**20:.0f} MiB, "
                f"resident memory by {(most - resident) / 2**20:.0f} MiB\n"
            )
            sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
