"""What a new process waits for: the import, and the first call after it.

Every figure comes from a process of its own, whose bytecode an earlier process has left behind, as it is after an
installation. What an import takes beyond scikit-learn's base of estimators is a difference between two processes that
follow each other, and the median of the turns is reported: a single difference is smaller than what the machine makes
of one process or another.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache, partial

from benchmarks.measuring import OURS, Contest, Contestant, Setting

#: Seconds of an import, in a process that has imported nothing but what Python itself needs.
IMPORT = "import time; began = time.perf_counter(); import {}; print(time.perf_counter() - began)"
#: Seconds of the first fit and answer; the estimator's module is loaded by naming it.
FIRST_CALL = """
import time
import numpy as np
import softcount
rng = np.random.default_rng(0)
y = rng.integers(0, 3, 1000)
bits, numbers = rng.integers(0, 2, (1000, 20)), rng.normal(size=(1000, 10)) + y[:, None]
model, data = softcount.{}
began = time.perf_counter()
model.fit(*data).predict(data[0])
print(time.perf_counter() - began)
"""
IMPORTED = ("BernoulliNB", "GaussianMixture", "LogisticRegression", "GLM")
CALLED = {
    "BernoulliNB": "BernoulliNB(), (bits, y)",
    "GaussianNB": "GaussianNB(), (numbers, y)",
    "GaussianMixture": "GaussianMixture(3), (numbers,)",
    "LogisticRegression": "LogisticRegression(), (numbers, y)",
    "GLM": "GLM(), (numbers, y)",
}


def contests(setting: Setting) -> list[Contest]:
    """Limits alone; nobody races here."""
    del setting  # a process is a process
    imports = [
        Contest(
            f"import softcount.{name}, beyond sklearn.base",
            Contestant(OURS, partial(_beyond, name), lambda _: 0.0, 0.0, tells_time=True),
            seconds_limit=0.25,
        )
        for name in IMPORTED
    ]
    calls = [
        Contest(
            f"first fit and predict of {name} after the import, 1,000 rows",
            Contestant(OURS, partial(_seconds, FIRST_CALL.format(call)), lambda _: 0.0, 0.0, tells_time=True),
            seconds_limit=0.010,
        )
        for name, call in CALLED.items()
    ]
    return imports + calls


def _beyond(name: str) -> float:
    """What importing an estimator takes beyond scikit-learn's base of estimators, which it needs."""
    ours, base = IMPORT.format(f"softcount; softcount.{name}"), IMPORT.format("sklearn.base")
    return _seconds(ours) - _seconds(base)


def _seconds(program: str) -> float:
    """What a process prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True, env=_environment()
    )
    return float(done.stdout)


@cache
def _environment() -> dict[str, str]:
    """The environment of a process that finds bytecode, wherever it may not be written beside the sources."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = _folder().name
    warm = "import softcount\nfor name in dir(softcount): getattr(softcount, name)"
    subprocess.run([sys.executable, "-W", "ignore", "-c", warm], check=True, env=kept)
    return kept


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Lives as long as this process."""
    return tempfile.TemporaryDirectory(prefix="softcount-bytecode-")


WORKLOADS = {"start-up": contests}
