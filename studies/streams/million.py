"""A million batches: ``python -m studies.streams.million [--batches 1000000] [--models mixture classifier]``.

A mixture without labels and a naive Bayes classifier, of whose rows one in ten has a label, learn from one batch after
the other by stepwise EM. What is printed says how far they are from the truth as the stream grows: they have to stay
there.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import softcount

ROWS = 20
SHARES = np.array([0.3, 0.7])
MEANS = np.array([[0.0, 0.0], [2.0, -1.0]])
RATES = np.array([[0.9, 0.2, 0.7, 0.5], [0.1, 0.8, 0.3, 0.4]])
#: From so many batches on the distance counts.
SETTLED = 10_000
FARTHEST = 0.1


class Mixture:
    """Yes-or-no answers of two groups."""

    def __init__(self) -> None:
        self.model = softcount.BernoulliMixture(2, random_state=0, n_jobs=1)

    def learn(self, z: Any, rng: np.random.Generator) -> None:
        """One batch."""
        self.model.partial_fit((rng.random((z.size, 4)) < RATES[z]).astype(float), forgetting=0.7)

    def distance(self) -> float:
        """The largest error of a probability."""
        found, order = self.model.probabilities_, np.argsort(self.model.weights_)
        return float(max(np.abs(found[order] - RATES).max(), np.abs(self.model.weights_[order] - SHARES).max()))


class Classifier:
    """Numbers of two classes, few of them labeled."""

    def __init__(self) -> None:
        self.model = softcount.GaussianNB(n_jobs=1)

    def learn(self, z: Any, rng: np.random.Generator) -> None:
        """One batch."""
        y = np.where(rng.random(z.size) < 0.1, z.astype(object), None)
        if not hasattr(self.model, "theta_"):
            y = z
        self.model.partial_fit(rng.normal(size=(z.size, 2)) + MEANS[z], y, classes=[0, 1], forgetting=0.7)

    def distance(self) -> float:
        """The largest error of a mean, a variance or a share."""
        means, variances = np.abs(self.model.theta_ - MEANS), np.abs(self.model.var_ - 1.0)
        return float(max(means.max(), variances.max(), np.abs(self.model.class_prior_ - SHARES).max()))


MODELS = {"mixture": Mixture, "classifier": Classifier}


def run(name: str, batches: int, seed: int) -> float:
    """The largest distance from the truth once the stream is long."""
    rng, learner = np.random.default_rng(seed), MODELS[name]()
    began, told, worst = time.perf_counter(), 1000, 0.0
    for batch in range(1, batches + 1):
        learner.learn((rng.random(ROWS) < SHARES[1]).astype(int), rng)
        if batch % 1000 == 0 and batch >= SETTLED:
            worst = max(worst, learner.distance())
        if batch in (told, batches):
            seconds = time.perf_counter() - began
            sys.stdout.write(f"{name}: {batch:>9,} batches, {learner.distance():.4f} from the truth, {seconds:.0f} s\n")
            sys.stdout.flush()
            told = round(told * 10**0.5)
    return worst


def main() -> int:
    """Print a line twice per power of ten."""
    parser = argparse.ArgumentParser(prog="python -m studies.streams.million", description=__doc__)
    parser.add_argument("--batches", type=int, default=1_000_000)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = {name: run(name, args.batches, args.seed) for name in args.models}
    for name, worst in found.items():
        sys.stdout.write(f"{name}: from {SETTLED:,} batches on never further than {worst:.4f} from the truth\n")
    return 0 if max(found.values()) < FARTHEST else 1


if __name__ == "__main__":
    sys.exit(main())
