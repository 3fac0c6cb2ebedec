"""The report in words: how good, how sure, and what would help most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softcount.report.data import Advice, Class, Quality, Rows, Unlabeled, Verdict
from softcount.report.wording import counted, listed, percent, shown

__all__ = ["give_verdict"]

UNKNOWN, NOT_SHOWN = "unknown", "not shown to work"
BETTER, CLEARLY = "better than guessing", "clearly better than guessing"
#: Of the mistakes that the commonest class makes, a model avoids at least this share to be clearly better.
CLEAR_GAIN = 0.5
#: An accuracy known to within this is known well enough.
NARROW = 0.05
#: A class whose rows are found less often than this is named.
WEAK = 0.8
FEW_LABELS = 10
MOST_ADVICE = 4


def give_verdict(
    quality: Quality | None,
    classes: Sequence[Class],
    suspects: Rows | None,
    to_label: Rows | None,
    unlabeled: Unlabeled | None,
    *,
    n_labeled: int = 0,
) -> Verdict:
    """What the figures mean.

    Parameters
    ----------
    quality : Quality or None
    classes : sequence of Class
    suspects : Rows or None
        Labels that look wrong.
    to_label : Rows or None
        Rows to label next.
    unlabeled : Unlabeled or None
    n_labeled : int
        Labeled rows, of which only some may have been held out.
    """
    advice = tuple(_advice(quality, classes, suspects, to_label))[:MOST_ADVICE]
    if quality is None:
        reason = "No label could be held out: that takes at least two labels of some class."
        return Verdict(UNKNOWN, "Nobody knows yet how good this model is.", (reason,), advice)
    grade = _grade(quality)
    low, high = quality.accuracy_interval
    commonest = repr(shown(quality.commonest_class, 40))
    if grade == NOT_SHOWN:
        headline = f"Not shown to be better than always saying {commonest}."
    else:
        headline = f"Right about {_percent(quality.accuracy)} of rows it has not seen."
    rows = counted(quality.n_rows, "labeled row")
    if quality.n_rows < n_labeled:
        rows = f"{quality.n_rows:,} rows, drawn from {counted(n_labeled, 'labeled one')} and"
    where = "held out in turn" if quality.how == "held out" else quality.how
    sentences = [
        f"{percent(quality.accuracy)} of {rows} {where} were right; with 95 % "
        f"confidence the accuracy lies between {percent(low)} and {percent(high)}. Always saying {commonest} is right "
        f"for {percent(quality.accuracy_of_commonest_class)}.",
        *_weakest(classes),
        *_calibration(quality),
    ]
    if unlabeled is not None and unlabeled.verdict is not None:
        sentences.append(unlabeled.verdict)
    return Verdict(grade, headline, tuple(sentences), advice)


def _grade(quality: Quality) -> str:
    baseline = quality.accuracy_of_commonest_class
    if quality.accuracy_interval[0] <= baseline:
        return NOT_SHOWN
    avoided = (quality.accuracy - baseline) / (1.0 - baseline)
    return CLEARLY if avoided >= CLEAR_GAIN else BETTER


def _percent(share: float) -> str:
    """Without decimals where they say nothing."""
    return percent(share) if share >= 0.99 else f"{100.0 * share:.0f} %"


def _weakest(classes: Sequence[Class]) -> Iterator[str]:
    found = [c for c in classes if c.recall is not None and c.n_held_out]
    if len(found) < 2:
        return
    worst = min(found, key=lambda c: c.recall or 0.0)
    assert worst.recall is not None
    assert worst.recall_interval is not None
    assert worst.n_held_out is not None
    if worst.recall < 1.0:
        low, high = worst.recall_interval
        yield (
            f"It is weakest on {shown(worst.name, 40)!r}: of {counted(worst.n_held_out, 'such row')} it finds "
            f"{percent(worst.recall)} (between {percent(low)} and {percent(high)})."
        )


def _calibration(quality: Quality) -> Iterator[str]:
    before, after = quality.calibration_error_before, quality.calibration_error
    stated = f"Its stated probabilities are off by {percent(after)} on average"
    yield stated + (f", before calibration by {percent(before)}." if abs(before - after) >= 0.0005 else ".")
    sure = next((level for level in quality.levels if level.at_least == 0.9 and level.accuracy is not None), None)
    if sure is not None and sure.accuracy is not None:
        yield (
            f"It is at least 90 % sure of {_percent(sure.share)} of the rows, and of these "
            f"{percent(sure.accuracy)} were right."
        )


def _advice(
    quality: Quality | None, classes: Sequence[Class], suspects: Rows | None, to_label: Rows | None
) -> Iterator[Advice]:
    start = " Start with the rows under “What to label next”." if to_label is not None and to_label.rows else ""
    if quality is None:
        yield Advice(
            "Label at least two rows of each class.", "Then some can be held out to measure the accuracy." + start
        )
        return
    few = sorted((c for c in classes if c.n_labels < FEW_LABELS), key=lambda c: c.n_labels)
    if few and quality.how == "held out":
        names = listed([f"{shown(c.name, 30)!r} ({c.n_labels:,})" for c in few])
        yield Advice(
            f"Label more rows of {names}.", f"Fewer than {FEW_LABELS} labels say little about a class." + start
        )
    if suspects is not None and suspects.n_found > max(2.0 * (suspects.n_expected or 0.0), 1.0):
        yield Advice(
            f"Check the {counted(suspects.n_found, 'label')} under “Labels that look wrong”.",
            f"About {suspects.n_expected or 0.0:.0f} would be expected if all labels were right and the probabilities "
            "held; the others are wrong labels, or rows of a kind that the model misjudges.",
        )
    if few and quality.how == "held out" and quality.n_rows < FEW_LABELS * max(2, len(classes)) / 2:
        # Everything else that could be said follows from this.
        return
    half = (quality.accuracy_interval[1] - quality.accuracy_interval[0]) / 2.0
    if half > NARROW:
        yield Advice(
            "Label more rows." if quality.how == "held out" else "Evaluate on more labeled rows.",
            f"With {quality.n_rows:,} labels the accuracy is known to ± {100 * half:.0f} points; four times as many "
            f"labels halve that.{start}",
        )
    weak = [c for c in classes if c.recall is not None and c.recall < WEAK and c.n_labels >= FEW_LABELS]
    if weak and quality.confusions:
        top = quality.confusions[0]
        yield Advice(
            f"Look at why {shown(top.label, 30)!r} is taken for {shown(top.predicted, 30)!r}.",
            f"That is the commonest mistake ({counted(top.n_rows, 'row')}). Columns or words that tell the two apart, "
            "or more labels of both, would help most.",
        )
    if _grade(quality) == NOT_SHOWN:
        yield Advice(
            "Give it more to learn from.",
            "More labels, more columns, or pairs of words (--words 1-2): what there is does not yet tell the classes "
            "apart.",
        )
