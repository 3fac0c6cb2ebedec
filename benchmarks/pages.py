"""Results as pages: that of all measurements, and the few rows of the README.

The page has a section for each kind of measurement. They are measured at different times, for memory takes a process
for every fit: a section of which the results hold nothing is kept as the page has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.measuring import Outcome, Timing
from benchmarks.reporting import (
    HEAD,
    LIMIT_HEAD,
    MEMORY_HEAD,
    Row,
    duration,
    limit_rows,
    markdown_table,
    memory_rows,
    notes,
    ratio_rows,
)
from benchmarks.results import Measured

#: The headings of the page, in their order.
TIMES, MEMORY, START_UP, SCALING, REMARKS = (
    "Times",
    "Memory above the data during a fit",
    "Start-up",
    "How time grows",
    "Remarks",
)
SECTIONS = (TIMES, MEMORY, START_UP, SCALING, REMARKS)
TITLE = "# Measured times and memory"
INTRODUCTION = (
    "`python -m benchmarks --only-report --update-docs` writes these tables, and the one of the README, from what "
    "`make bench` and `make bench-scaling` measured. How the figures come about is told in "
    "[performance](performance.md)."
)
#: Where the table of the README begins and ends.
BEGIN, END = "<!-- times: begin -->", "<!-- times: end -->"
README_HEAD: Row = ("work", "softcount", "the same work by", "takes")


@dataclass(frozen=True)
class Headline:
    """A row of the README: one contest against one rival.

    Attributes
    ----------
    contest, rival : str
        How their names begin.
    work : str
        What the reader is told.
    """

    contest: str
    rival: str
    work: str


SKLEARN = "scikit-learn"
HEADLINES = (
    Headline("BernoulliNB fit, sparse", SKLEARN, "naive Bayes, 200,000 x 50,000 sparse, 20 classes: fit"),
    Headline("MultinomialNB predict_proba, sparse", SKLEARN, "the same, multinomial: probabilities"),
    Headline("MultinomialNB EM, sparse", "SciPy", "the same, 1 % labeled: EM, per iteration"),
    Headline("latent classes, 100,000 x 12 x 5, K=6, 10%", "StepMix", "latent classes, 100,000 x 12 with holes: EM"),
    Headline("Gaussian mixture (full)", SKLEARN, "Gaussian mixture, 500,000 x 16, full, 10 components: EM"),
    Headline("GaussianNB predict_proba", SKLEARN, "Gaussian naive Bayes, 1,000,000 x 32: probabilities"),
    Headline("logistic, dense 500,000 x 50, 2 classes", SKLEARN, "logistic regression, 500,000 x 50, to a gap of 1e-8"),
    Headline("words and their counts, 52 MB of ASCII", SKLEARN, "52 MB of text to counts, with the vocabulary"),
)


def sections_of(measured: list[Measured], scaling: str = "") -> dict[str, str]:
    """What results have to say, by heading; ``scaling`` is the table of :mod:`benchmarks.scaling`."""
    outcomes = [outcome for one in measured for outcome in one.outcomes]
    times = [row for outcome in outcomes for row in ratio_rows(outcome)]
    memory = [row for outcome in outcomes for row in memory_rows(outcome)]
    limits = [row for outcome in outcomes for row in limit_rows(outcome)]
    remarks = [note for outcome in outcomes for note in notes(outcome)]
    remarks += [f"{one.workload} broke down: {one.error}" for one in measured if one.error]
    found = {}
    if times:
        found[TIMES] = (
            f"{_circumstances(measured)}\n\nTimes are medians of interleaved turns, of one iteration where the work is "
            "EM, validation included. Nobody was timed before the answer had been compared with the reference. The "
            f"ratio is the rival's time over softcount's.\n\n{markdown_table(HEAD, times)}"
        )
    if memory:
        found[MEMORY] = (
            "How far resident memory rises above the data, in a process for each fit, in MB of 2^20 bytes. The limit "
            "is 64 MB; for EM of sparse rows also the tables of columns by classes that each of two threads works "
            "with, those of the parameters and one of counts, and 3 bytes for each stored entry.\n\n"
            f"{markdown_table(MEMORY_HEAD, memory)}"
        )
    if limits:
        found[START_UP] = f"Each in new processes that find bytecode.\n\n{markdown_table(LIMIT_HEAD, limits)}"
    if scaling:
        found[SCALING] = (
            "Medians of three turns with 2 threads. The exponent is the slope of log time over log size, over the "
            f"larger half of the sizes; 1 is linear, 0 is flat.\n\n{scaling}"
        )
    if remarks:
        found[REMARKS] = "\n".join(f"- {remark}" for remark in remarks)
    return found


def page_of(sections: dict[str, str], before: str = "") -> str:
    """The page, with sections that are not given as they were ``before``."""
    kept = parsed(before) | sections
    parts = [f"## {name}\n\n{kept[name]}" for name in SECTIONS if name in kept]
    return "\n\n".join([TITLE, INTRODUCTION, *parts]) + "\n"


def parsed(page: str) -> dict[str, str]:
    """The sections of a page by heading.

    Examples
    --------
    >>> parsed("# Title\\n\\nHello.\\n\\n## Times\\n\\nfast\\n")
    {'Times': 'fast'}
    """
    pieces = re.split(r"^## (.*)$", page, flags=re.MULTILINE)[1:]
    return {name: text.strip() for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _circumstances(measured: list[Measured]) -> str:
    machine, settings = measured[0].machine, measured[0].settings
    versions = ", ".join(f"{name} {number}" for name, number in machine["libraries"].items())
    dates = sorted({one.machine["date"] for one in measured})
    scales = sorted({one.settings["scale"] for one in measured})
    size = "" if scales == [1.0] else f" Sizes are {', '.join(f'{scale:g}' for scale in scales)} of the full ones."
    return (
        f"Measured on {' and '.join(dates)}.{size} {machine['cores']} cores of {machine['processor']}, everybody with "
        f"{settings['threads']} threads; Python {machine['python']}, {versions}."
    )


# ---- the README
def readme_with(readme: str, measured: list[Measured]) -> str:
    """The README with its table of times anew; as it is where a row of the table was not measured."""
    if BEGIN not in readme or END not in readme:
        raise SystemExit(f"README.md has no lines {BEGIN!r} and {END!r} to put the table of times between.")
    outcomes = [outcome for one in measured for outcome in one.outcomes]
    rows = list(_headline_rows(outcomes))
    if len(rows) < len(HEADLINES):
        return readme
    head, _, rest = readme.partition(BEGIN)
    return f"{head}{BEGIN}\n{markdown_table(README_HEAD, rows)}\n{END}{rest.partition(END)[2]}"


def _headline_rows(outcomes: Iterable[Outcome]) -> Iterator[Row]:
    outcomes = list(outcomes)
    for headline in HEADLINES:
        for outcome in outcomes:
            timing = _rival_in(outcome, headline)
            if timing is not None and timing.seconds is not None and outcome.ours.seconds is not None:
                ratio = timing.seconds / outcome.ours.seconds
                longer = f"{ratio:.0f} times as long" if ratio >= 10.0 else f"{ratio:.1f} times as long"
                yield (headline.work, duration(outcome.ours.seconds), timing.name, longer)
                break


def _rival_in(outcome: Outcome, headline: Headline) -> Timing | None:
    if not outcome.name.startswith(headline.contest):
        return None
    return next((timing for timing in outcome.rivals if timing.name.startswith(headline.rival)), None)
