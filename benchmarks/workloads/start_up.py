"""What a new process waits for: the import, and the first call after it."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.measuring import OURS, Contest, Contestant, Setting

#: Seconds of an import, in a process that has imported nothing but what Python itself needs.
IMPORT = "import time; began = time.perf_counter(); import {}; print(time.perf_counter() - began)"
#: Seconds of the first fit and answer; the estimator's module is loaded by naming it.
FIRST_CALL = """
import time
import numpy as np
import softcount
rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (1000, 20)), rng.integers(0, 3, 1000)
model = softcount.BernoulliNB()
began = time.perf_counter()
model.fit(X, y).predict(X)
print(time.perf_counter() - began)
"""


def contests(setting: Setting) -> list[Contest]:
    """Two limits; nobody races here."""
    del setting  # a process is a process

    def beyond() -> float:
        """What importing softcount takes beyond scikit-learn's base of estimators, which it needs."""
        return _seconds(IMPORT.format("softcount; softcount.BernoulliNB")) - _seconds(IMPORT.format("sklearn.base"))

    return [
        Contest(
            "import softcount and an estimator, beyond sklearn.base",
            Contestant(OURS, beyond, lambda _: 0.0, 0.0, tells_time=True),
            seconds_limit=0.25,
        ),
        Contest(
            "first fit and predict after the import, 1,000 rows",
            Contestant(OURS, lambda: _seconds(FIRST_CALL), lambda _: 0.0, 0.0, tells_time=True),
            seconds_limit=0.010,
        ),
    ]


def _seconds(program: str) -> float:
    """What a process prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


WORKLOADS = {"start-up": contests}
