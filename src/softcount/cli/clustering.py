"""The job behind ``softcount cluster``: decide about the columns, fit every number of groups, describe the best."""

from __future__ import annotations

import math
import re
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from softcount.cli.console import Console
from softcount.cli.options import match_columns
from softcount.cli.outcomes import DataError, UsageError
from softcount.cli.wording import did_you_mean, feature_shortened, printable, shortened, table_lines
from softcount.inputs.cells import MISSING_MARKS, find_missing, parse_numbers
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole, decide_roles

if TYPE_CHECKING:
    from softcount.estimators.table.groups import ProfileRow, TreatedTable
    from softcount.select import Candidate, Selection

__all__ = [
    "ClusterSettings",
    "choose",
    "criteria_lines",
    "decide_columns",
    "in_words",
    "profile_lines",
    "read_classes",
    "selection_content",
    "take_weights",
]

MOST_GROUPS = 100
#: Lines of the profile that are printed; the JSON document has all of them.
SHOWN_LINES = 40
#: What marks a group: a value's share above that of all rows by this, a mean away from theirs by so many deviations.
MARKED_SHARE, MARKED_SPREAD = 0.1, 0.4
SHOWN_MARKS = 4
WIDTH = 78


@dataclass(frozen=True)
class ClusterSettings:
    """How groups are looked for.

    Attributes
    ----------
    classes : tuple of int
        Numbers of groups to try.
    kind : {"auto", "latent-class", "mixture"}
    criterion : str
    n_bootstrap, n_starts, seed : int
    n_jobs : int or None
    """

    classes: tuple[int, ...]
    kind: str = "auto"
    criterion: str = "bic"
    n_bootstrap: int = 0
    n_starts: int = 20
    seed: int = 0
    n_jobs: int | None = None


def read_classes(text: str) -> tuple[int, ...]:
    """``"2:8"`` as 2 to 8, ``"3"`` as 3 alone, ``"2,4,6"`` as listed.

    Examples
    --------
    >>> read_classes("2:4"), read_classes("3,5")
    ((2, 3, 4), (3, 5))
    """
    found: set[int] = set()
    for part in text.split(","):
        span = re.fullmatch(r"\s*(\d{1,4})\s*(?:[:-]\s*(\d{1,4})\s*)?", part)
        low, high = (int(span[1]), int(span[2] or span[1])) if span else (0, 0)
        if not 1 <= low <= high <= MOST_GROUPS:
            raise UsageError(
                f"--classes {text!r}: expected a range such as 2:8, a number, or numbers with commas between, from "
                f"1 to {MOST_GROUPS}."
            )
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def decide_columns(table: RawTable, asked: dict[str, str], marks: Sequence[str]) -> list[ColumnRole]:
    """What each column is; texts are set aside, with the reason.

    Parameters
    ----------
    table : RawTable
    asked : dict of str to str
        Roles the user gives.
    marks : sequence of str
        Texts that stand for a missing value.
    """
    asked = match_columns(asked, table.columns)
    for name, role in asked.items():
        if name not in table.columns:
            raise UsageError(f"There is no column {name!r}{did_you_mean(name, table.columns)}")
        if role == "text":
            raise UsageError(f"--role {name}=text: groups are found by categories, numbers, counts and dates.")
    roles = decide_roles(table.columns, asked, marks, where=table.where)
    roles = [replace(r, role="ignore", reason=f"texts ({r.reason})") if r.role == "text" else r for r in roles]
    if not any(role.is_learned for role in roles):
        found = "; ".join(f"{role.name!r}: {role.role} ({role.reason})" for role in roles)
        raise DataError(
            f"There is no column to find groups by. Found {found}. Give a column another role with --role COLUMN=ROLE."
        )
    return roles


def take_weights(table: RawTable, name: str | None, marks: Any = MISSING_MARKS) -> tuple[RawTable, Any]:
    """The table without the column of weights, and the weights.

    Parameters
    ----------
    table : RawTable
    name : str or None
        The column; None for a table without weights.
    marks : collection of str
        Texts that stand for a missing value.
    """
    if name is None:
        return table, None
    if name not in table.columns:
        raise UsageError(f"There is no column {name!r}{did_you_mean(name, table.columns)}")
    cells = table.columns[name]
    missing = find_missing(cells, marks)
    values, wrong = parse_numbers(cells, missing, "plain")
    bad = sorted({*wrong.tolist(), *missing.nonzero()[0].tolist(), *(values < 0.0).nonzero()[0].tolist()})
    if bad:
        raise DataError(
            f"{table.where(bad[0]).capitalize()}, column {name!r} holds {cells[bad[0]]!r}; expected a weight, a number "
            "of 0 or more."
        )
    return table.without(name), values


def choose(treated: TreatedTable, weight: Any, settings: ClusterSettings, console: Console) -> Selection:
    """Fit every number of groups; what the fits warn of stands in the recommendation and the notes of the best.

    Parameters
    ----------
    treated : TreatedTable
    weight : array or None
        Weights of the rows.
    settings : ClusterSettings
    console : Console
    """
    from softcount.estimators.table.groups import TableLatentClass, TableMixture
    from softcount.select import how_many

    kind = settings.kind
    if kind == "auto":
        kind = "latent-class" if treated.is_categorical else "mixture"
    make: Any = TableLatentClass if kind == "latent-class" else TableMixture
    estimator = make(random_state=settings.seed, n_init=settings.n_starts)
    if settings.classes[-1] > treated.n_rows:
        raise UsageError(f"--classes asks for {settings.classes[-1]} groups, but there are {treated.n_rows} rows.")
    with console.progress("fitting") as progress, warnings.catch_warnings():
        # The advice and the notes repeat what matters, for the groups that are recommended.
        warnings.simplefilter("ignore")
        return how_many(
            estimator,
            treated,
            settings.classes,
            sample_weight=weight,
            criterion=settings.criterion,
            n_bootstrap=settings.n_bootstrap,
            random_state=settings.seed,
            n_jobs=settings.n_jobs,
            progress=progress.read,
        )


def criteria_lines(selection: Selection) -> list[str]:
    """The numbers of groups side by side, the recommended one marked."""
    tested = any(c.p_value is not None for c in selection.candidates)
    header = ["groups", "log-lik.", "param.", "AIC", "BIC", "ICL", "clarity", "smallest", "best starts"]

    def row(c: Candidate) -> list[str]:
        cells = [
            f"{c.n_components}{' *' if c.n_components == selection.best else '  '}",
            f"{c.log_likelihood:,.1f}",
            f"{c.n_parameters}",
            f"{c.aic:,.1f}",
            f"{c.bic:,.1f}",
            f"{c.icl:,.1f}",
            f"{c.relative_entropy:.2f}",
            f"{100.0 * c.smallest_share:.1f} %",
            f"{c.n_best} of {c.n_finished}",
        ]
        return [*cells, "" if c.p_value is None else f"{c.p_value:.3f}"] if tested else cells

    return table_lines([*header, "p"] if tested else header, map(row, selection.candidates), numbers_from=0)


def selection_content(selection: Selection, treated: TreatedTable) -> dict[str, Any]:
    """Everything for JSON: columns, criteria, recommendation, profile.

    Parameters
    ----------
    selection : Selection
    treated : TreatedTable
    """
    best = selection.best_model
    return {
        "n_rows": treated.n_rows,
        "columns": [{"name": r.name, "role": r.role, "reason": r.reason} for r in treated.treatment.roles],
        "estimator": type(best).__name__,
        "criterion": selection.criterion,
        "candidates": [asdict(candidate) for candidate in selection.candidates],
        "recommended": selection.best,
        "recommendation": selection.recommendation,
        "groups": [
            {"group": name, "share": float(share)} for name, share in zip(best.group_names, best.weights_, strict=True)
        ],
        "profile": [{**row._asdict(), "groups": row.groups.tolist()} for row in best.profile()],
        "converged": bool(best.converged_),
        "notes": list(best.notes_),
    }


def in_words(selection: Selection) -> list[str]:
    """The recommendation, and each group by what marks it.

    Parameters
    ----------
    selection : Selection
    """
    best = selection.best_model
    lines = _wrapped(selection.recommendation.replace("component", "group"))
    if selection.best == 1:
        return lines
    lines.append("")
    for name, share, marks in zip(best.group_names, best.weights_, _marks(best.profile()), strict=True):
        text = f"{name.capitalize()} ({100.0 * share:.0f} % of the rows): {', '.join(marks) or 'near the average'}"
        lines += _wrapped(printable(text), indent="  ")
    return lines


def _wrapped(text: str, indent: str = "") -> list[str]:
    # A number and its percent sign stay together, and names whole.
    tied = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(tied, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _marks(rows: Sequence[ProfileRow]) -> list[list[str]]:
    """What every group has more or less of than all rows, the most telling first."""
    spread = {row.column: row.overall for row in rows if row.quantity == "standard deviation"}
    found: list[list[tuple[float, str]]] = [[] for _ in rows[0].groups]
    for row in rows:
        for k, value in enumerate(row.groups.tolist()):
            name, gap = shortened(row.column, 24), value - row.overall
            if row.quantity == "probability" and gap > MARKED_SHARE:
                words = f"{name} = {shortened(row.value, 24)} ({100 * value:.0f} %, of all {100 * row.overall:.0f} %)"
                found[k].append((gap, words))
            elif row.quantity in ("mean", "rate"):
                scale = spread.get(row.column, math.sqrt(max(row.overall, 0.0)))
                if scale > 0.0 and abs(gap) > MARKED_SPREAD * scale:
                    word = "high" if gap > 0.0 else "low"
                    words = f"{name} {word} ({value:.4g}, of all {row.overall:.4g})"
                    found[k].append((abs(gap) / scale / 2.0, words))
    return [[words for _, words in sorted(marks, key=lambda mark: -mark[0])[:SHOWN_MARKS]] for marks in found]


def profile_lines(rows: Sequence[ProfileRow], weights: Sequence[float]) -> list[str]:
    """The profile as a table: shares in percent, means with what they are.

    Parameters
    ----------
    rows : sequence of ProfileRow
    weights : sequence of float
        Shares of the groups.
    """
    shown = list(rows)[:SHOWN_LINES]
    header = ["", "all", *(f"group {k + 1}" for k in range(len(weights)))]
    lines = [["share of the rows", "100 %", *(f"{100.0 * w:.0f} %" for w in weights)]]
    for row in shown:
        cells = [_cell(value, row.quantity) for value in [row.overall, *row.groups.tolist()]]
        name = f"{row.column}={row.value}" if row.value is not None else f"{row.column} {row.quantity}"
        lines.append([feature_shortened(name, 40), *cells])
    found = table_lines(header, lines)
    if len(rows) > len(shown):
        found.append(f"and {len(rows) - len(shown):,} more lines, which --json lists")
    return found


def _cell(value: float, quantity: str) -> str:
    if quantity == "probability":
        return f"{100.0 * value:.0f} %"
    return f"{value:.4g}"
