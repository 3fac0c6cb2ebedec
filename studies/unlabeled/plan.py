"""Which draws the study makes."""

from __future__ import annotations

import sys

from studies.unlabeled.data_sets import DATA_SETS, MissingDataError, load
from studies.unlabeled.draws import Job

__all__ = ["CURVES", "DRAWS_TIMED", "QUICK_SETS", "TABLE", "TITLES", "jobs_to_time", "planned_jobs"]

TITLES = {
    "messages": "demo messages",
    "messages_tfidf": "demo messages, tf-idf",
    "digits": "digits, 8 by 8",
    "breast_cancer": "breast cancer",
    "wine": "wine",
    "votes": "house votes",
    "mushroom": "mushroom",
    "sms": "SMS spam",
    "adult": "adult",
    "enron": "Enron mail",
    "mnist": "MNIST, binarized",
    "newsgroups": "20 Newsgroups",
    "newsgroups_topics": "Newsgroups, 4 topics",
    "newsgroups_odd": "Newsgroups, odd/even",
}

#: Numbers of labels in the tables: per class for newsgroups, in all for the others.
TABLE: dict[str, tuple[int, ...]] = {
    "newsgroups": (1, 2, 5, 15, 50, 275),
    "sms": (10, 20, 50),
    "enron": (10, 20, 50),
    "votes": (10, 20),
    "mushroom": (10, 20),
    "adult": (50,),
    "mnist": (50, 200),
    "breast_cancer": (10,),
    "wine": (10,),
    "messages": (10, 20, 40),
    "messages_tfidf": (20, 40),
    "digits": (30, 100),
    "newsgroups_topics": (10, 1000),
    "newsgroups_odd": (200, 1000),
}

#: Numbers of labels on the curves.
CURVES: dict[str, tuple[int, ...]] = {
    "newsgroups": (1, 2, 5, 15, 50, 275),
    "enron": (10, 20, 50, 200, 1000),
    "messages": (10, 20, 40, 100, 300),
    "mnist": (50, 200, 1000, 5000),
    "newsgroups_topics": (2, 10, 50, 250, 1000),
    "newsgroups_odd": (10, 50, 200, 1000),
}

#: Draws whose fits are timed.
DRAWS_TIMED = 5

QUICK_SETS = ["messages", "digits", "breast_cancer", "wine", "votes", "sms"]


def planned_jobs(
    n_draws: int, first_seed: int, sets: list[str] | None, *, curves: bool = True
) -> tuple[list[list[Job]], list[str]]:
    """Jobs grouped so that a process loads a set once, the longest first; and the sets that are not there."""
    batches: list[list[Job]] = []
    skipped: list[str] = []
    for name in sorted(DATA_SETS, key=lambda name: not name.startswith(("newsgroups", "mnist", "enron"))):
        if sets is not None and name not in sets:
            continue
        try:
            load(name)
        except MissingDataError as error:
            skipped.append(f"{TITLES[name]} ({error})")
            sys.stderr.write(f"skipped: {skipped[-1]}\n")
            continue
        sizes = set(TABLE.get(name, ()))
        if curves:
            sizes |= set(CURVES.get(name, ()))
        seeds = range(first_seed, first_seed + n_draws)
        half = (len(seeds) + 1) // 2
        for part in (seeds[:half], seeds[half:]):
            if part:
                batches.append([Job(name, size, seed) for size in sorted(sizes) for seed in part])
    return batches, skipped


def jobs_to_time(batches: list[list[Job]], n_draws: int) -> list[Job]:
    """The first draws of every row of the tables."""
    jobs = sorted({job for batch in batches for job in batch if job.n_labels in TABLE[job.name]}, key=_place)
    first = min((job.seed for job in jobs), default=0)
    return [job for job in jobs if job.seed < first + n_draws]


def _place(job: Job) -> tuple[str, int, int]:
    return job.name, job.n_labels, job.seed
