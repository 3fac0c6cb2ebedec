"""A report as text: lines of at most about 100 characters, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence

from softcount.report.data import Class, ClassEvidence, Column, Feature, Quality, Report, Row
from softcount.report.wording import counted, feature_shortened, percent, printable, shortened, table_lines

__all__ = [
    "class_lines",
    "column_lines",
    "confusion_lines",
    "evidence_lines",
    "next_lines",
    "quality_lines",
    "render_text",
    "suspect_lines",
]

#: Classes that a confusion matrix is printed for.
MOST_CLASSES = 12
#: Classes whose evidence is printed.
MOST_EVIDENCE = 25


def render_text(report: Report) -> str:
    """The whole report."""
    parts = [
        [f"{report.model}: {report.verdict.headline}", f"({report.verdict.grade})"],
        [*report.verdict.sentences],
        ["What would help most", *[f"- {a.do} {a.why}" for a in report.verdict.advice]]
        if report.verdict.advice
        else [],
        ["Warnings", *[f"- {text}" for text in report.warnings]] if report.warnings else [],
    ]
    if report.evaluation is not None:
        parts.append(["How good it is", *quality_lines(report.evaluation)])
        parts.append(_class_table(report.classes))
        parts.append(confusion_lines(report.evaluation, report.classes))
        parts.append(_reliability_lines(report.evaluation))
    parts.append(["What speaks for each class", *evidence_lines(report.evidence, 12)])
    for title, rows in (
        ("Labels that look wrong", report.suspects),
        ("Rows it is least sure of", report.least_sure),
        ("What to label next", report.next),
    ):
        if rows is not None and rows.rows:
            parts.append([f"{title} ({len(rows.rows)} of {rows.n_found:,})", *[_row_line(row) for row in rows.rows]])
    parts.append(["Columns", *column_lines(report.columns)])
    origin = [f"$ {report.command}", f"{report.created}; {', '.join(f'{k} {v}' for k, v in report.versions.items())}"]
    parts.append(origin)
    return printable("\n\n".join("\n".join(part) for part in parts if part)) + "\n"


def column_lines(columns: Sequence[Column]) -> list[str]:
    """What each column was taken for, and why."""
    rows = [(shortened(c.name, 24), c.role, shortened(c.reason, 48)) for c in columns]
    return table_lines(("column", "taken for", "because"), rows, numbers_from=3)


def class_lines(classes: Sequence[Class]) -> list[str]:
    """How many labels each class has."""
    ordered = sorted(classes, key=lambda c: -c.n_labels)
    rows = [(shortened(c.name, 30), f"{c.n_labels:,}") for c in ordered[:MOST_CLASSES]]
    if len(ordered) > MOST_CLASSES:
        rest = sum(c.n_labels for c in ordered[MOST_CLASSES:])
        rows.append((f"and {len(ordered) - MOST_CLASSES:,} more", f"{rest:,}"))
    return table_lines(("class", "labels"), rows)


def quality_lines(found: Quality) -> list[str]:
    """Accuracy and calibration in words."""
    low, high = found.accuracy_interval
    stated = f"stated probabilities are off by {percent(found.calibration_error)} on average"
    if found.calibration_error != found.calibration_error_before:
        stated += f" (before calibration {percent(found.calibration_error_before)})"
    return [
        f"accuracy     {percent(found.accuracy)}  (95 % interval {percent(low)} to {percent(high)}, "
        f"{counted(found.n_rows, 'labeled row')} {found.how})",
        f"             {percent(found.accuracy_of_commonest_class)} by always saying the commonest class",
        f"log-loss     {found.log_loss:.3f}",
        f"calibration  {stated}",
    ]


def confusion_lines(found: Quality, classes: Sequence[Class]) -> list[str]:
    """Rows by true class and predicted class, if there are not too many classes."""
    if found.confusion is None or len(classes) > MOST_CLASSES:
        return []
    short = [shortened(c.name, 14) for c in classes]
    rows = [(short[k], *(f"{n:,.0f}" for n in row)) for k, row in enumerate(found.confusion)]
    return table_lines(("true \\ predicted", *short), rows)


def evidence_lines(evidence: Sequence[ClassEvidence], most: int) -> list[str]:
    """What speaks most for each class; "less" marks what speaks for it by being absent or low."""
    return [
        f"{shortened(about.name, 30)}: "
        + (", ".join(map(_evidence_name, about.features[:most])) or "nothing in particular")
        for about in evidence[:MOST_EVIDENCE]
    ] + ([f"and {len(evidence) - MOST_EVIDENCE:,} more classes"] if len(evidence) > MOST_EVIDENCE else [])


def _evidence_name(feature: Feature) -> str:
    return feature_shortened(feature.name, 30) + (" (less)" if feature.score < 0.0 else "")


def suspect_lines(report: Report, most: int) -> list[str]:
    """Labels that look wrong, the worst first."""
    rows = () if report.suspects is None else report.suspects.rows
    return [
        f"{row.where}: labeled {row.label!r}, but {row.predicted!r} with probability {row.probability:.3f}"
        for row in rows[:most]
    ]


def next_lines(report: Report, most: int) -> list[str]:
    """Rows to label next, the most useful first."""
    rows = () if report.next is None else report.next.rows
    return [f"{row.where}: {_first_cells(row, 56)}" for row in rows[:most]]


def _class_table(classes: Sequence[Class]) -> list[str]:
    rows = [
        (
            shortened(c.name, 30),
            f"{c.n_labels:,}",
            "" if c.recall is None else percent(c.recall),
            "" if c.precision is None else percent(c.precision),
        )
        for c in classes
    ]
    return table_lines(("class", "labels", "found", "right when said"), rows)


def _reliability_lines(found: Quality) -> list[str]:
    rows = [
        (
            percent(b.stated),
            percent(b.observed),
            f"{percent(b.interval[0])} to {percent(b.interval[1])}",
            f"{b.n_rows:,.0f}",
        )
        for b in found.reliability
    ]
    return table_lines(("stated", "right", "95 % interval", "rows"), rows, numbers_from=0)


def _row_line(row: Row) -> str:
    label = "" if row.label is None else f"labeled {row.label!r}, "
    cells = _first_cells(row, 60)
    return (
        f"{row.where}: {label}{row.predicted!r} {row.probability:.3f}, {row.second!r} {row.second_probability:.3f}: "
        f"{cells}" + (f" ({row.reason})" if row.reason else "")
    )


def _first_cells(row: Row, most: int) -> str:
    """The first two cells that are not empty, cut at so many characters."""
    cells = [cell for cell in row.cells if cell.text][:2]
    return " | ".join(shortened(cell.text, most) for cell in cells)
