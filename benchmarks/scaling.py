"""How the time grows with rows, classes, columns and entries: ``python -m benchmarks.scaling``.

Each *ladder* is one kind of work at growing sizes, all else equal. The exponent is the slope of log time over log
size by least squares, over the larger half of the sizes, where what a call costs besides the arithmetic no longer
counts: one is linear. Results lie in out/benchmarks/scaling, a JSON file for each ladder.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import softcount
from benchmarks.documents import few_labels, word_counts
from benchmarks.measuring import limited_threads
from benchmarks.reporting import Row, duration, plain_table
from benchmarks.results import FOLDER

HOME = FOLDER / "scaling"
HEAD: Row = ("work", "along", "times", "exponent")
#: Data may take this share of the memory that is free.
SHARE = 0.4
THREADS = 2
#: The time of one iteration is the slope between one and as many more as take so many seconds.
FEW, LONG_ENOUGH = 1, 0.15
LEAST_MORE, MOST_MORE = 3, 60


@dataclass(frozen=True)
class Ladder:
    """One kind of work at growing sizes.

    Attributes
    ----------
    name, along : str
        The work, and what grows.
    sizes : tuple of int
    build : callable
        The work of one size: a function of a number of iterations, or of nothing.
    bytes_of : callable
        About how much memory the data of one size takes.
    per_iteration : bool
    """

    name: str
    along: str
    sizes: tuple[int, ...]
    build: Callable[[int], Callable[..., Any]]
    bytes_of: Callable[[int], float] = lambda size: 0.0
    per_iteration: bool = False


@dataclass(frozen=True)
class Climb:
    """What a ladder gave: seconds by size, None where the memory did not suffice."""

    name: str
    along: str
    sizes: tuple[int, ...]
    seconds: tuple[float | None, ...]
    per_iteration: bool

    @property
    def exponent(self) -> float:
        """The slope over the larger half of the sizes."""
        return exponent(self.sizes, self.seconds)

    def row(self) -> Row:
        """As the table shows it."""
        times = ", ".join(
            f"{size:,}: {'memory' if seconds is None else duration(seconds)}"
            for size, seconds in zip(self.sizes, self.seconds, strict=True)
        )
        return (
            self.name + (", per iteration" if self.per_iteration else ""),
            self.along,
            times,
            f"{self.exponent:.2f}",
        )


def exponent(sizes: Sequence[int], seconds: Sequence[float | None]) -> float:
    """The exponent of time as a power of size, from the larger half of the sizes that were measured.

    Examples
    --------
    >>> round(exponent([1, 10, 100, 1000], [1.0, 1.0, 2.0, 20.0]), 6)
    1.0
    """
    done = [(size, found) for size, found in zip(sizes, seconds, strict=True) if found is not None and found > 0.0]
    upper = done[len(done) // 2 :] if len(done) > 3 else done
    if len(upper) < 2:
        return float("nan")
    slope, _ = np.polyfit(np.log([size for size, _ in upper]), np.log([found for _, found in upper]), 1)
    return float(slope)


def climb(ladder: Ladder, turns: int) -> Climb:
    """Measure every size that fits into memory."""
    seconds: list[float | None] = []
    for size in ladder.sizes:
        if ladder.bytes_of(size) > SHARE * free_bytes():
            seconds.append(None)
            continue
        work = ladder.build(size)
        with limited_threads(THREADS):
            if ladder.per_iteration:
                more = _iterations(work)
                seconds.append(statistics.median(_slope(work, more) for _ in range(turns)))
            else:
                work()
                seconds.append(statistics.median(_call(work) for _ in range(turns)))
        del work
        gc.collect()
    return Climb(ladder.name, ladder.along, ladder.sizes, tuple(seconds), ladder.per_iteration)


def _iterations(work: Callable[..., Any]) -> int:
    """How many more iterations take long enough to be measured; the work is warm afterwards."""
    work(FEW)
    each = max(_slope(work, LEAST_MORE), 1e-6)
    return int(np.clip(LONG_ENOUGH / each, LEAST_MORE, MOST_MORE))


def _slope(work: Callable[..., Any], more: int) -> float:
    """Seconds of one iteration."""
    began = time.perf_counter()
    work(FEW)
    between = time.perf_counter()
    work(FEW + more)
    return ((time.perf_counter() - between) - (between - began)) / more


def _call(work: Callable[..., Any]) -> float:
    """Seconds of one call; a short one is repeated until the clock can tell."""
    calls, began = 0, time.perf_counter()
    while True:
        work()
        calls += 1
        spent = time.perf_counter() - began
        if spent > 0.02:
            return spent / calls


def free_bytes() -> float:
    """Memory that can still be had; what a small machine has where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 4e9
    return next((1024.0 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), 4e9)


# ---- the work
def _gaussian(n_rows: int, *, answer: bool = False) -> Callable[..., Any]:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_rows, 16), dtype=np.float32), rng.integers(5, size=n_rows)
    model = softcount.GaussianNB(n_jobs=THREADS).fit(X[:1000], y[:1000])
    if answer:
        return lambda: model.predict_proba(X)
    return lambda: softcount.GaussianNB(n_jobs=THREADS).fit(X, y)


def _words(n_rows: int, *, tokens: int = 30, n_columns: int = 50_000, answer: bool = False) -> Callable[..., Any]:
    X, y = word_counts(n_rows, n_columns, 20, tokens=tokens)
    model = softcount.MultinomialNB(n_jobs=THREADS).fit(X, y)
    if answer:
        return lambda: model.predict_proba(X)
    return lambda: softcount.MultinomialNB(n_jobs=THREADS).fit(X, y)


def _em(n_rows: int, n_classes: int = 20, n_columns: int = 50_000, tokens: int = 30) -> Callable[..., Any]:
    X, truth = word_counts(n_rows, n_columns, n_classes, tokens=tokens)
    y = few_labels(truth, n_classes, 0.05)
    plain = {"tol": 0.0, "unlabeled_weight": 1.0, "calibrate": "none", "n_jobs": THREADS}
    return lambda n_iter: softcount.BernoulliNB(max_iter=n_iter, **plain).fit(X, y)


def _survey(n_rows: int, n_classes: int = 6) -> Callable[..., Any]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (n_rows, 12), dtype=np.int8)
    resp = rng.dirichlet(np.ones(n_classes), 1000)
    make = softcount.CategoricalMixture
    plain = {"tol": 0.0, "accelerate": False, "order": None, "merge_rows": False, "min_categories": 5}
    params = make(n_classes, max_iter=1, init=resp, **plain).fit(X[:1000]).params_
    return lambda n_iter: make(n_classes, max_iter=n_iter, init=params, n_jobs=THREADS, **plain).fit(X)


def _mixture(n_rows: int, n_components: int = 5, n_columns: int = 8, kind: str = "full") -> Callable[..., Any]:
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(n_rows, n_columns))
        + rng.normal(size=(n_components, n_columns))[rng.integers(n_components, size=n_rows)]
    )
    unit = np.ones((n_components, n_columns)) if kind == "diag" else np.stack([np.eye(n_columns)] * n_components)
    given = {"weights_init": np.full(n_components, 1 / n_components), "means_init": X[:n_components]}
    plain = {"tol": 0.0, "covariance_type": kind, "precisions_init": unit, "merge_rows": False, "n_jobs": THREADS}
    make = softcount.GaussianMixture
    return lambda n_iter: make(n_components, max_iter=n_iter, reg_covar=1e-6, **given, **plain).fit(X)


def _threads(n_threads: int) -> Callable[..., Any]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200_000, 16)), rng.integers(5, size=200_000)
    return lambda: softcount.GaussianNB(n_jobs=n_threads).fit(X, y)


POWERS = tuple(10**k for k in range(3, 8))
LADDERS = {
    "gaussian-nb-fit": Ladder("GaussianNB fit, 16 columns of float32", "N", POWERS, _gaussian, lambda n: 72.0 * n),
    "gaussian-nb-proba": Ladder(
        "GaussianNB predict_proba", "N", POWERS, lambda n: _gaussian(n, answer=True), lambda n: 112.0 * n
    ),
    "words-fit": Ladder(
        "MultinomialNB fit, sparse, 50,000 columns, K=20", "N", POWERS[:-1], _words, lambda n: 1500.0 * n
    ),
    "words-proba": Ladder(
        "MultinomialNB predict_proba, sparse", "N", POWERS[:-1], lambda n: _words(n, answer=True), lambda n: 1700.0 * n
    ),
    "words-entries": Ladder(
        "MultinomialNB fit, 20,000 sparse rows", "words per row", (10, 30, 100, 300, 1000),
        lambda tokens: _words(20_000, tokens=tokens), lambda tokens: 1e6 * tokens,
    ),
    "words-columns": Ladder(
        "MultinomialNB fit, 100,000 sparse rows", "V", POWERS[:-1], lambda v: _words(100_000, n_columns=v)
    ),
    "em-rows": Ladder("BernoulliNB EM, sparse, K=20", "N", POWERS[:-1], _em, lambda n: 1500.0 * n, per_iteration=True),
    "em-classes": Ladder(
        "BernoulliNB EM, 50,000 sparse rows", "K", (2, 4, 8, 16, 32, 64, 128), lambda k: _em(50_000, k),
        per_iteration=True,
    ),
    "em-columns": Ladder(
        "BernoulliNB EM, 100,000 sparse rows, K=4", "V", POWERS[:-1], lambda v: _em(100_000, 4, v), per_iteration=True
    ),
    "latent-rows": Ladder(
        "latent classes, 12 items, K=6", "N", POWERS, _survey, lambda n: 40.0 * n, per_iteration=True
    ),
    "latent-classes": Ladder(
        "latent classes, 100,000 x 12", "K", (2, 4, 8, 16, 32, 64), lambda k: _survey(100_000, k), per_iteration=True
    ),
    "mixture-rows": Ladder(
        "Gaussian mixture (full), 8 columns, K=5", "N", POWERS, _mixture, lambda n: 200.0 * n, per_iteration=True
    ),
    "mixture-components": Ladder(
        "Gaussian mixture (full), 50,000 x 8", "K", (2, 4, 8, 16, 32, 64), lambda k: _mixture(50_000, k),
        per_iteration=True,
    ),
    "mixture-columns": Ladder(
        "Gaussian mixture (full), 20,000 rows, K=5", "columns", (4, 8, 16, 32, 64), lambda d: _mixture(20_000, 5, d),
        per_iteration=True,
    ),
    "threads": Ladder("GaussianNB fit, 200,000 x 16, two cores", "threads", (2, 4, 8, 16, 32, 64), _threads),
}  # fmt: skip


def collected(folder: Path = HOME) -> list[Climb]:
    """All results in the folder, in the order of the table."""
    found = []
    for name in LADDERS:
        path = folder / f"{name}.json"
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            found.append(Climb(**{**content, "sizes": tuple(content["sizes"]), "seconds": tuple(content["seconds"])}))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure the ladders asked for."""
    parser = argparse.ArgumentParser("python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("ladders", nargs="*", help=f"first letters of some of: {', '.join(LADDERS)}")
    parser.add_argument("--turns", type=int, default=3, help="turns of each size (default 3)")
    parser.add_argument("--largest", type=int, default=10**7, help="sizes beyond this are left out")
    parser.add_argument("--folder", type=Path, default=HOME, help="where results are written")
    asked = parser.parse_args(arguments)
    chosen = [name for name in LADDERS if not asked.ladders or any(map(name.startswith, asked.ladders))]
    if not chosen:
        raise SystemExit(f"No ladder begins so. There are: {', '.join(LADDERS)}.")
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        ladder = LADDERS[name]
        sizes = tuple(size for size in ladder.sizes if size <= asked.largest)
        found = climb(Ladder(**{**vars(ladder), "sizes": sizes}), asked.turns)
        (asked.folder / f"{name}.json").write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
        print(plain_table(HEAD, [found.row()]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
