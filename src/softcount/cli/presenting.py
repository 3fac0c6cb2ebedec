"""What a model found, in lines for people and in values for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from softcount.cli.wording import percent, shortened, table_lines

if TYPE_CHECKING:
    from softcount.estimators.table import TableClassifier
    from softcount.estimators.table.evaluation import Evaluation

__all__ = [
    "class_lines",
    "column_lines",
    "columns_content",
    "confusion_lines",
    "evaluation_content",
    "evaluation_lines",
    "top_content",
    "top_lines",
]

WIDTH = 78
#: Classes that a confusion matrix is printed for.
MOST_CLASSES = 12


def column_lines(model: TableClassifier) -> list[str]:
    """What each column was taken for, and why."""
    rows = [(shortened(r.name, 24), r.role, shortened(r.reason, 48)) for r in model.treatment_.roles]
    return table_lines(("column", "taken for", "because"), rows, numbers_from=3)


def columns_content(model: TableClassifier) -> list[dict[str, str]]:
    """The same for JSON."""
    return [{"name": r.name, "role": r.role, "reason": r.reason} for r in model.treatment_.roles]


def class_lines(counts: dict[str, int]) -> list[str]:
    """How many labels each class has."""
    shown = sorted(counts.items(), key=lambda item: -item[1])
    rows = [(shortened(name, 30), f"{count:,}") for name, count in shown[:MOST_CLASSES]]
    if len(shown) > MOST_CLASSES:
        rows.append((f"and {len(shown) - MOST_CLASSES:,} more", f"{sum(c for _, c in shown[MOST_CLASSES:]):,}"))
    return table_lines(("class", "labels"), rows)


def evaluation_lines(found: Evaluation, how: str) -> list[str]:
    """Accuracy and calibration in words.

    Parameters
    ----------
    found : Evaluation
    how : str
        How the rows were obtained: "by cross-validation", "on new rows".
    """
    low, high = found.interval
    lines = [
        f"accuracy     {percent(found.accuracy)}  (95 % interval {percent(low)} to {percent(high)}, "
        f"{found.n_rows:,} labeled rows {how})",
        f"             {percent(found.baseline)} by always saying the commonest class",
        f"log-loss     {found.log_loss:.3f}",
    ]
    before, after = found.before.error, found.after.error
    stated = f"stated probabilities are off by {percent(after)} on average"
    if before != after:
        stated += f" (before calibration {percent(before)})"
    return [*lines, f"calibration  {stated}"]


def confusion_lines(found: Evaluation, names: list[str]) -> list[str]:
    """Rows by true class and predicted class, if there are not too many classes."""
    if len(names) > MOST_CLASSES:
        return []
    short = [shortened(name, 14) for name in names]
    rows = [(short[k], *(f"{n:,.0f}" for n in found.confusion[k])) for k in range(len(names))]
    return table_lines(("true \\ predicted", *short), rows)


def evaluation_content(found: Evaluation | None, names: list[str]) -> dict[str, Any] | None:
    """An evaluation for JSON."""
    if found is None:
        return None

    def bins(reliability: Any) -> list[dict[str, Any]]:
        columns = zip(reliability.stated, reliability.observed, reliability.weight, strict=True)
        return [{"stated": float(s), "observed": float(o), "weight": float(w)} for s, o, w in columns if w > 0.0]

    return {
        "n_rows": found.n_rows,
        "accuracy": found.accuracy,
        "accuracy_interval": list(found.interval),
        "accuracy_of_commonest_class": found.baseline,
        "log_loss": found.log_loss,
        "log_loss_before_calibration": found.log_loss_before,
        "calibration_error": found.after.error,
        "calibration_error_before": found.before.error,
        "reliability": bins(found.after),
        "reliability_before": bins(found.before),
        "classes": names,
        "confusion": found.confusion,
    }


def top_lines(model: TableClassifier, k: int) -> list[str]:
    """What speaks most for each class."""
    lines: list[str] = []
    for name, top in model.top_features(k).items():
        words = ", ".join(shortened(feature, 30) for feature, _ in top) or "nothing in particular"
        lines.append(f"{shortened(name, 30)}: {words}")
    return lines


def top_content(model: TableClassifier, k: int) -> dict[str, list[dict[str, Any]]]:
    """The same for JSON."""
    return {
        str(name): [{"feature": feature, "score": score} for feature, score in top]
        for name, top in model.top_features(k).items()
    }
