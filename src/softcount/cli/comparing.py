"""The job behind ``softcount compare``: learning curves of a generative and a discriminative model of one table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from softcount.cli.console import Console
from softcount.cli.options import match_columns
from softcount.cli.outcomes import DataError, UsageError
from softcount.cli.wording import percent, table_lines
from softcount.inputs.cells import MISSING_MARKS
from softcount.inputs.roles import decide_roles

if TYPE_CHECKING:
    from softcount.cli.settings import TrainSettings
    from softcount.cli.training import LabeledTable
    from softcount.explain.compare import PairComparison

__all__ = ["compare", "comparison_content", "comparison_lines", "draw"]

NAMES = ("naive Bayes", "logistic regression")
WIDTH = 78
#: A further gain of accuracy from the last doubling of the rows that is worth labeling for.
WORTHWHILE = 0.01


def compare(
    data: LabeledTable,
    settings: TrainSettings,
    console: Console,
    *,
    sizes: Sequence[int] | None,
    n_repeats: int,
    most_rows: int,
    seed: int,
) -> PairComparison:
    """Learning curves on the labeled rows.

    Parameters
    ----------
    data : LabeledTable
    settings : TrainSettings
        Roles of columns, and marks of missing values.
    console : Console
    sizes : sequence of int, optional
        Numbers of training rows.
    n_repeats : int
        Splits.
    most_rows : int
        More labeled rows than this are not used.
    seed : int
    """
    import numpy as np

    from softcount.estimators.table.text import TextOptions
    from softcount.estimators.table.treatment import Treatment
    from softcount.estimators.table.twins import CodedTable, NumberedNaiveBayes, discriminative_twin
    from softcount.explain.compare import compare_pair

    labeled = [row for row, label in enumerate(data.labels) if label is not None]
    if len(labeled) < len(data.labels):
        console.note(f"{len(data.labels) - len(labeled):,} rows without a label take no part.")
    if len(labeled) > most_rows:
        console.note(f"Of {len(labeled):,} labeled rows {most_rows:,} are drawn; --most-rows takes more.")
        drawn = np.random.default_rng(seed).choice(len(labeled), most_rows, replace=False)
        labeled = [labeled[i] for i in np.sort(drawn).tolist()]
    table = data.table.take(labeled)
    labels = np.array([data.labels[row] for row in labeled])
    marks = sorted(MISSING_MARKS | set(settings.missing))
    roles = decide_roles(table.columns, match_columns(settings.columns, table.columns), marks, where=table.where)
    if not any(role.is_learned for role in roles):
        found = "; ".join(f"{role.name!r}: {role.role} ({role.reason})" for role in roles)
        raise DataError(f"There is no column to learn from. Found {found}. Give a column another role.")
    coded = CodedTable(*Treatment.learn(table, roles, marks, TextOptions(), 1))
    rows = np.arange(coded.n_rows)[:, None]
    pair = (NumberedNaiveBayes(coded), discriminative_twin(coded))
    with console.progress("learning from more and more rows") as progress:
        found_pair = compare_pair(
            *pair, rows, labels, sizes=sizes, n_repeats=n_repeats, random_state=seed, progress=progress.read
        )
    return replace(found_pair, names=NAMES)


def comparison_lines(compared: PairComparison) -> list[str]:
    """The finding in words, and the curves as a table of error rates.

    Parameters
    ----------
    compared : PairComparison
    """
    errors, intervals = compared.mean_errors, compared.intervals
    rows = [
        (
            f"{size:,}",
            *(f"{percent(errors[i, j])}  ({percent(low)} to {percent(high)})" for i, (low, high) in _at(intervals, j)),
            NAMES[int(errors[0, j] > errors[1, j])] if errors[0, j] != errors[1, j] else "",
        )
        for j, size in enumerate(compared.sizes.tolist())
    ]
    lines = textwrap.wrap(compared.sentence[:1].upper() + compared.sentence[1:], WIDTH)
    lines += textwrap.wrap(_on_more_labels(compared), WIDTH)
    lines += ["", "Test error, mean of the splits (95 % interval)"]
    lines += table_lines(("training rows", *NAMES, "ahead"), rows, numbers_from=0)
    warned = compared.n_warned.sum(axis=1).tolist()
    fits = compared.errors.shape[1] * compared.errors.shape[2]
    for name, count in zip(NAMES, warned, strict=True):
        if count:
            lines.append(f"{count:,} of {fits:,} fits of {name} warned (separated classes are common on few rows).")
    return lines


def _at(intervals: Any, j: int) -> list[tuple[int, tuple[float, float]]]:
    return [(i, (float(low), float(high))) for i, (low, high) in enumerate(intervals[:, j])]


def _on_more_labels(compared: PairComparison) -> str:
    """Whether more labels would pay, from what the last doubling of the rows brought."""
    import numpy as np

    best = compared.mean_errors.min(axis=0)
    if compared.sizes.size < 2:
        return ""
    half = float(np.interp(np.log(compared.sizes[-1] / 2.0), np.log(compared.sizes), best))
    gain = half - float(best[-1])
    change = f"from {compared.sizes[-1] / 2.0:,.0f} to {compared.sizes[-1]:,} rows took the error from "
    change += f"{percent(half)} to {percent(float(best[-1]))}"
    if gain > WORTHWHILE:
        return f"More labels would help: doubling them {change}."
    return f"More labels would help little: doubling them {change}."


def comparison_content(compared: PairComparison) -> dict[str, Any]:
    """The curves for JSON.

    Parameters
    ----------
    compared : PairComparison
    """
    crossing = compared.crossing
    return {
        "finding": compared.sentence,
        "on_more_labels": _on_more_labels(compared),
        "models": list(compared.names),
        "sizes": compared.sizes.tolist(),
        "errors": compared.mean_errors.tolist(),
        "intervals": compared.intervals.tolist(),
        "n_repeats": int(compared.errors.shape[2]),
        "n_warned": compared.n_warned.tolist(),
        "crossing": None if crossing is None else crossing._asdict(),
    }


def draw(compared: PairComparison, path: str) -> None:
    """Draw the curves to a file that appears whole or not at all.

    Parameters
    ----------
    compared : PairComparison
    path : str
        Ends in .svg, .png or .pdf.
    """
    from pathlib import Path

    from softcount.cli.export import atomic_output

    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError("--figure needs matplotlib, which is not installed: pip install 'softcount[plot]'.") from None
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    axes = compared.plot()
    figure: Any = axes.figure
    with atomic_output(path) as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower())
    plt.close(figure)
