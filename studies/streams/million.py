"""A million batches: ``python -m studies.streams.million [--batches 1000000]``.

A naive Bayes classifier and a mixture learn from one batch after the other, of which one row in ten has a label, by
stepwise EM. What is printed says how far the parameters are from the truth as the stream grows: they have to stay there.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import softcount

MEANS = np.array([[0.0, 0.0], [2.0, -1.0]])
SHARES = np.array([0.3, 0.7])
ROWS = 20


def main() -> int:
    """Print a line ten times per power of ten."""
    parser = argparse.ArgumentParser(prog="python -m studies.streams.million", description=__doc__)
    parser.add_argument("--batches", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    classifier = softcount.GaussianNB(n_jobs=1)
    mixture = softcount.BernoulliMixture(2, random_state=0, n_jobs=1)
    rates = np.array([[0.9, 0.2, 0.7, 0.5], [0.1, 0.8, 0.3, 0.4]])
    began, worst = time.perf_counter(), 0.0
    told = 1000
    for batch in range(1, args.batches + 1):
        z = (rng.random(ROWS) < SHARES[1]).astype(int)
        y = np.where(rng.random(ROWS) < 0.1, z.astype(object), None)
        if batch == 1:
            y[:2], z[:2] = [0, 1], [0, 1]
        X = rng.normal(size=(ROWS, 2)) + MEANS[z]
        classifier.partial_fit(X, y, classes=[0, 1], forgetting=0.7)
        mixture.partial_fit((rng.random((ROWS, 4)) < rates[z]).astype(float), forgetting=0.7)
        if batch == told or batch == args.batches:
            away = np.abs(classifier.theta_ - MEANS).max(), abs(classifier.class_prior_[1] - SHARES[1])
            found = np.abs(np.sort(mixture.weights_) - SHARES).max()
            variance = np.abs(classifier.var_ - 1.0).max()
            worst = max(worst, *away) if batch >= 10_000 else worst
            sys.stdout.write(
                f"{batch:>9,} batches: means off by {away[0]:.4f}, variances by {variance:.4f}, shares by {away[1]:.4f}; "
                f"mixture's shares by {found:.4f}; {1e6 * (time.perf_counter() - began) / batch:.0f} us per batch\n"
            )
            sys.stdout.flush()
            told = round(told * 10**0.5)
    sys.stdout.write(f"from 10,000 batches on never further than {worst:.4f} from the truth\n")
    return 0 if worst < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
