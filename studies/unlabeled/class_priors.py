"""An idea that was tried: class probabilities that EM may not move.

``python -m studies.unlabeled.class_priors`` fits the default with class probabilities estimated (as it comes), fixed at
the shares of the labeled rows (with one row more of each class), and equal.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from statistics import mean
from typing import Any

import numpy as np

from studies.unlabeled.data_sets import load
from studies.unlabeled.draws import Job, draw_labels, with_nan
from studies.unlabeled.plan import TITLES

__all__ = ["main", "try_priors"]

SIZES: dict[str, tuple[int, ...]] = {
    "sms": (10, 20, 50),
    "enron": (10, 20),
    "messages": (20,),
    "votes": (10, 20),
    "mushroom": (10, 20),
    "digits": (30,),
    "newsgroups": (2, 15),
}


def try_priors(job: Job) -> tuple[float, float, float]:
    """Accuracy on the test part: estimated, shares of the labeled rows, equal."""
    data = load(job.name)
    rows = draw_labels(data, job.n_labels, job.seed)
    y = with_nan(data, rows)
    share = np.bincount(data.y[rows]) + 1.0
    settings: tuple[dict[str, Any], ...] = ({}, {"class_prior": share / share.sum()}, {"fit_prior": False})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [data.classifier(n_jobs=1, **own).fit(data.X, y) for own in settings]
    first, second, third = (float(fit.score(data.X_test, data.y_test)) for fit in fits)
    return first, second, third


def main() -> None:
    """Print one line of Markdown per data set and number of labels."""
    parser = argparse.ArgumentParser(prog="python -m studies.unlabeled.class_priors", description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--sets", nargs="+", default=list(SIZES), choices=list(SIZES))
    args = parser.parse_args()
    sys.stdout.write("| data, labels | estimated | labeled rows' shares | equal |\n|---|---|---|---|\n")
    for name in args.sets:
        for size in SIZES[name]:
            seeds = range(args.first_seed, args.first_seed + args.draws)
            draws = [try_priors(Job(name, size, seed)) for seed in seeds]
            each = " | ".join(f"{mean(way):.3f}" for way in zip(*draws, strict=True))
            per_class = " per class" if name.startswith("newsgroups") else ""
            sys.stdout.write(f"| {TITLES[name]}, {size}{per_class} | {each} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
