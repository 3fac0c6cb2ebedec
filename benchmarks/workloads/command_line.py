"""Training from the command line: a table of messages in, a model file out; 100,000 messages, one in a hundred labeled.

Everybody is a process of its own that reads the same CSV file, learns, and writes a model file; the start of Python and
what is imported count. softcount does all it does by default: it chooses the event model and the smoothing, decides by
cross-validation how the rows without a label are used, calibrates, and writes a report with wrong labels and rows to
label next. The first rival counts words and learns; the second also cross-validates.
"""

from __future__ import annotations

import atexit
import csv
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.documents import messages
from benchmarks.measuring import OURS, Contest, Contestant, Goal, Setting

N_MESSAGES = 100_000
#: One message of so many has a label.
LABELED = 100
#: Messages whose class is asked of everybody's model, and the share of wrong answers allowed.
N_ASKED, WRONG = 2_000, 0.1
NAMES = "ab"
SKLEARN = "scikit-learn SelfTrainingClassifier(MultinomialNB)"

RIVAL = """
import csv, sys, joblib
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import SelfTrainingClassifier
csv.field_size_limit(2**30)
with open(sys.argv[1], newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
texts = [row["text"] for row in rows]
y = [{"": -1, "a": 0, "b": 1}[row["label"]] for row in rows]
vectorizer = CountVectorizer()
counts = vectorizer.fit_transform(texts)
model = SelfTrainingClassifier(MultinomialNB()).fit(counts, y)
joblib.dump((vectorizer, model), sys.argv[2])
"""
#: How good the model is, which softcount says as well: five folds of the labeled rows, each with all unlabeled ones.
EVALUATION = """
import numpy as np
from sklearn.model_selection import StratifiedKFold
y = np.array(y)
labeled = np.flatnonzero(y >= 0)
scores = []
for _, held in StratifiedKFold(5).split(labeled, y[labeled]):
    hidden = y.copy()
    hidden[labeled[held]] = -1
    fold = SelfTrainingClassifier(MultinomialNB()).fit(counts, hidden)
    scores.append(fold.score(counts[labeled[held]], y[labeled[held]]))
print(np.mean(scores))
"""
ASKED = """
import joblib, sys
vectorizer, model = joblib.load(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    texts = file.read().splitlines()
print("".join("ab"[k] for k in model.predict(vectorizer.transform(texts))))
"""


@dataclass
class Job:
    """A command that learns from the table, and what its process needed."""

    arguments: list[str]
    environment: dict[str, str]
    peak_mb: float = 0.0
    processor: float = 0.0

    def __call__(self) -> None:
        """Run it; the processor time and the peak of resident memory are those of the latest run."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryFile() as complaint:
            process = subprocess.Popen(
                self.arguments, stdout=subprocess.DEVNULL, stderr=complaint, env=self.environment
            )
            self.peak_mb = 0.0
            while process.poll() is None:
                self.peak_mb = max(self.peak_mb, _peak_megabytes(process.pid))
                time.sleep(0.02)
            if process.returncode:
                complaint.seek(0)
                raise RuntimeError(complaint.read().decode().strip().splitlines()[-1])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    def remark(self) -> str:
        """What is not in the table."""
        peak = f", peak of resident memory {self.peak_mb:.0f} MB" if self.peak_mb else ""
        return f"{self.processor:.1f} s of processor time{peak}"


def _peak_megabytes(pid: int) -> float:
    """The highest resident memory of a process so far; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM:")), 0.0)


def contests(setting: Setting) -> list[Contest]:
    """Training with everything it does by default."""
    folder = Path(tempfile.mkdtemp(prefix="softcount-benchmark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    texts, truth = messages(setting.rows(N_MESSAGES, 2_000))
    table, asked = folder / "messages.csv", folder / "asked.txt"
    with table.open("w", newline="", encoding="utf-8") as file:
        labels = [NAMES[k] if i % LABELED == 0 else "" for i, k in enumerate(truth.tolist())]
        csv.writer(file).writerows([("label", "text"), *zip(labels, texts, strict=True)])
    asked.write_text("\n".join(texts[1 : N_ASKED + 1]), encoding="utf-8")
    expected = [NAMES[k] for k in truth[1 : N_ASKED + 1]]
    own, theirs = folder / "m.softcount", folder / "m.joblib"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(setting.threads))
    environment = {**os.environ, **threads}
    # As for a user, whose Python keeps what it has compiled of a module: the run that is checked leaves it behind.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def wrong(answers: list[str]) -> float:
        return float(np.mean([a != b for a, b in zip(answers, expected, strict=True)]))

    def own_errors(_: Any) -> float:
        import softcount

        return wrong(softcount.load(own).predict({"text": asked.read_text(encoding="utf-8").splitlines()}).tolist())

    def their_errors(_: Any) -> float:
        command = [sys.executable, "-c", ASKED, str(theirs), str(asked)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return wrong(list(done.stdout.strip()))

    def job(*arguments: object) -> Job:
        return Job([sys.executable, *map(str, arguments)], environment)

    train = job("-m", "softcount.cli", "train", table, "-o", own, "--jobs", setting.threads, "-q")
    learns = job("-c", RIVAL, table, theirs)
    evaluates = job("-c", RIVAL + EVALUATION, table, theirs)
    size = f"{len(texts):,} messages, {table.stat().st_size / 1e6:.0f} MB, 1 in {LABELED} labeled"
    return [
        Contest(
            f"softcount train, {size}",
            Contestant(OURS, train, own_errors, WRONG, remark=train.remark),
            (
                Contestant(SKLEARN, learns, their_errors, WRONG, goal=Goal(3.0), remark=learns.remark),
                Contestant(f"{SKLEARN}, cross-validated", evaluates, their_errors, WRONG, remark=evaluates.remark),
            ),
        )
    ]


WORKLOADS = {"command-line": contests}
