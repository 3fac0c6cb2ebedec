"""An idea that was tried: several components per class, chosen as the use of unlabeled rows is.

``python -m studies.unlabeled.components`` fits the default with one, two and three components per class, and takes more
of them where that lowers the cross-validated Brier score by more than a quarter of a standard error.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean
from typing import Any
from unittest.mock import patch

from softcount.core.crossfit import brier
from softcount.core.unlabeled import MARGIN, Choice, choose
from studies.unlabeled.data_sets import load
from studies.unlabeled.draws import Job, draw_labels, with_nan
from studies.unlabeled.plan import TITLES

__all__ = ["Tried", "chosen_number", "main", "try_numbers"]

NUMBERS = (1, 2, 3)
SIZES: dict[str, tuple[int, ...]] = {
    "sms": (20, 50),
    "votes": (20,),
    "digits": (100,),
    "newsgroups_topics": (10, 250),
    "enron": (20,),
    "mnist": (200,),
    "newsgroups": (15,),
}


@dataclass(frozen=True)
class Tried:
    """One draw: by number of components per class the accuracy on the test part and the time; and the choice."""

    accuracy: dict[int, float]
    seconds: dict[int, float]
    chosen: int


def chosen_number(choices: dict[int, Choice]) -> int:
    """The least number of components that no larger one beats by more than the margin of the default."""
    current = min(choices)
    for number in sorted(choices)[1:]:
        lighter, heavier = _brier(choices[current]), _brier(choices[number])
        gain, weight = lighter[0] - heavier[0], lighter[1]
        total = float(weight.sum())
        middle = float(weight @ gain) / total
        error = math.sqrt(float(weight @ (gain - middle) ** 2)) / total
        if middle > MARGIN * error:
            current = number
    return current


def _brier(choice: Choice) -> Any:
    """Brier score of every labeled row under the fit that was kept, and the rows' weights."""
    assert choice.held_out is not None
    assert choice.cooling is not None
    posterior = choice.held_out.cooled(choice.use, choice.cooling)
    return choice.held_out.by_row(brier(posterior, choice.held_out.codes))


def try_numbers(job: Job) -> Tried:
    """Fit the default with each number of components."""
    data = load(job.name)
    y = with_nan(data, draw_labels(data, job.n_labels, job.seed))
    choices: dict[int, Choice] = {}
    accuracy: dict[int, float] = {}
    seconds: dict[int, float] = {}
    for number in NUMBERS:
        model = data.classifier(n_components_per_class=number, n_jobs=1, random_state=job.seed)
        began = time.process_time()
        with warnings.catch_warnings(), patch("softcount.estimators._choosing.choose", _into(choices, number)):
            warnings.simplefilter("ignore")
            model.fit(data.X, y)
        seconds[number] = time.process_time() - began
        accuracy[number] = float(model.score(data.X_test, data.y_test))
    return Tried(accuracy, seconds, chosen_number(choices))


def _into(choices: dict[int, Choice], number: int) -> Callable[..., Choice]:
    """``choose``, which also keeps the held-out posteriors that an estimator forgets."""

    def remembering(*args: Any, **settings: Any) -> Choice:
        choices[number] = choose(*args, **settings)
        return choices[number]

    return remembering


def main() -> None:
    """Print one line of Markdown per data set and number of labels."""
    parser = argparse.ArgumentParser(prog="python -m studies.unlabeled.components", description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--sets", nargs="+", default=list(SIZES), choices=list(SIZES))
    args = parser.parse_args()
    sys.stdout.write("| data, labels | 1 | 2 | 3 | chosen | how often 1 / 2 / 3 | time of all three / of 1 |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for name in args.sets:
        for size in SIZES[name]:
            seeds = range(args.first_seed, args.first_seed + args.draws)
            draws = [try_numbers(Job(name, size, seed)) for seed in seeds]
            each = " | ".join(f"{mean(d.accuracy[n] for d in draws):.3f}" for n in NUMBERS)
            best = mean(d.accuracy[d.chosen] for d in draws)
            often = " / ".join(str(sum(d.chosen == n for d in draws)) for n in NUMBERS)
            cost = sum(sum(d.seconds.values()) for d in draws) / sum(d.seconds[1] for d in draws)
            label = f"{TITLES[name]}, {size}{' per class' if name.startswith('newsgroups') else ''}"
            sys.stdout.write(f"| {label} | {each} | {best:.3f} | {often} | {cost:.0f} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
