"""What the compiled kernels are worth: the same work in two processes, one of which does it with NumPy and SciPy.

Without a C compiler the package runs on these. Both processes check their answers as in the workload itself.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

from benchmarks.measuring import OURS, Contest, Contestant, Setting
from benchmarks.results import REPOSITORY
from benchmarks.serving import Worker

#: Workloads, and how many of their contests, at this share of their rows.
CHOSEN = {
    "sparse-em-bernoulli-20": 1,
    "latent-classes-missing": 1,
    "gaussian-mixture-full": 1,
    "gaussian-nb": 2,
    "bernoulli-images-10-uint8": 1,
    "text-ascii": 1,
}
SHARE = 0.25


def contests(setting: Setting) -> list[Contest]:
    """A contest for each chosen one; where rivals are not wanted there is nothing to compare with."""
    small = replace(setting, scale=SHARE * setting.scale, with_rivals=False)
    found = []
    for workload, n_contests in CHOSEN.items():
        started = cache(partial(_started, workload, small))
        for number, told in enumerate(started("native").hello["contests"][:n_contests]):
            compiled, plain = (_contestant(started, kernels, number) for kernels in ("native", "numpy"))
            rivals = (replace(plain, name="softcount, NumPy kernels"),) if setting.with_rivals else ()
            found.append(Contest(f"compiled kernels: {told['name']}", compiled, rivals))
    return found


def _started(workload: str, setting: Setting, kernels: str) -> Worker:
    return Worker(workload, setting, REPOSITORY / "src", {"SOFTCOUNT_KERNELS": kernels})


def _contestant(started: Any, kernels: str, number: int) -> Contestant:
    def is_wrong(_: float) -> float:
        return float(started(kernels).hello["contests"][number]["status"] != "ok")

    return Contestant(OURS, lambda: started(kernels).turn(number), is_wrong, 0.0, tells_time=True)


WORKLOADS = {"numpy-kernels": contests}
