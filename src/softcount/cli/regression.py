"""The job behind ``softcount glm``: read the columns a formula names, fit, and put the coefficients into words."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from softcount.cli.console import Console
from softcount.cli.outcomes import DataError, UsageError
from softcount.cli.wording import did_you_mean, printable
from softcount.inputs.cells import find_missing, number_style, parse_numbers
from softcount.inputs.raw_table import RawTable

if TYPE_CHECKING:
    import pandas as pd

    from softcount import GLM

__all__ = [
    "cautions",
    "code_target",
    "coefficient_lines",
    "data_frame",
    "fit",
    "formula_columns",
    "glm_content",
    "predict",
    "without_missing",
]

#: A dispersion above this says that the counts vary more than the family has it.
OVERDISPERSED = 1.5


def formula_columns(formula: str, table: RawTable, others: Iterable[str | None]) -> list[str]:
    """The columns of the table that a formula, an exposure, an offset and weights need.

    Parameters
    ----------
    formula : str
    table : RawTable
    others : iterable of str or None
        Columns that are named beside the formula.
    """
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        raise UsageError("Formulas need formulaic, which is not installed: pip install 'softcount[formula]'.") from None
    if "~" not in formula:
        raise UsageError(f"The formula {formula!r} has no '~'; expected 'claims ~ age + region' or the like.")
    try:
        named = sorted(map(str, Formula(formula).required_variables))
    except (FormulaicError, SyntaxError, ValueError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"The formula {formula!r} cannot be read ({first}). A name with spaces or signs in it stands in "
            "backquotes: y ~ `my column`."
        ) from None
    # Functions of columns hide the names they need.
    named += [name for name in table.columns if name not in named and re.search(rf"\b{re.escape(name)}\b", formula)]
    named += [name for name in others if name is not None and name not in named]
    for name in named:
        if name not in table.columns:
            raise UsageError(
                f"There is no column {name!r}{did_you_mean(name, table.columns)} The columns are "
                f"{', '.join(table.columns)}. A name with spaces or signs in it stands in backquotes in a formula."
            )
    return named


def without_missing(table: RawTable, names: Sequence[str], marks: Any, *, drop: bool) -> tuple[RawTable, int]:
    """The table's rows in which every named cell holds a value, and how many have none.

    Parameters
    ----------
    table : RawTable
    names : sequence of str
    marks : collection of str
        Texts that stand for a missing value.
    drop : bool
        Leave rows with missing cells out, instead of refusing them.
    """
    lost: dict[int, str] = {}
    for name in names:
        for row in find_missing(table.columns[name], marks).nonzero()[0].tolist():
            lost.setdefault(row, name)
    part = RawTable({name: table.columns[name] for name in names}, table.places, table.unit)
    if not lost:
        return part, 0
    if not drop:
        first = min(lost)
        raise DataError(
            f"{len(lost):,} of {table.n_rows:,} rows have a missing cell; the first is {table.where(first)}, column "
            f"{lost[first]!r}. Linear models need every cell: leave such rows out with --drop-missing, or fill the "
            "cells."
        )
    kept = [row for row in range(table.n_rows) if row not in lost]
    if not kept:
        raise DataError("Every row has a missing cell, so none is left.")
    return part.take(kept), len(lost)


def data_frame(table: RawTable) -> tuple[pd.DataFrame, dict[str, str]]:
    """Numbers as numbers, everything else as texts; and how the numbers of each column are written.

    Parameters
    ----------
    table : RawTable
        Without missing cells.
    """
    import numpy as np
    import pandas as pd

    columns: dict[str, Any] = {}
    styles: dict[str, str] = {}
    for name, cells in table.columns.items():
        missing = np.zeros(table.n_rows, dtype=bool)
        style = None if all(isinstance(cell, bool) for cell in cells) else number_style(cells, missing)
        if style is None:
            columns[name] = [cell if isinstance(cell, bool) else str(cell).strip() for cell in cells]
            continue
        values, _ = parse_numbers(cells, missing, style)
        is_whole = bool((values == np.floor(values)).all() and np.abs(values).max(initial=0.0) < 2.0**53)
        columns[name] = values.astype(np.int64) if is_whole else values
        styles[name] = style
    return pd.DataFrame(columns), styles


def code_target(frame: pd.DataFrame, formula: str, family: str, success: str | None) -> tuple[pd.DataFrame, str | None]:
    """A yes/no target as 1 and 0, and which of its values is the 1.

    Parameters
    ----------
    frame : data frame
    formula : str
    family : str
    success : str or None
        The value that is counted.
    """
    target = formula.partition("~")[0].strip().strip("`")
    if target not in frame.columns or frame[target].dtype.kind in "iuf":
        if success is not None:
            raise UsageError("--success names a value of a target that holds texts; this one holds numbers.")
        return frame, None
    values = sorted(map(str, frame[target].unique()))
    if "binomial" not in family or len(values) != 2:
        raise DataError(
            f"The target {target!r} holds {len(values):,} different texts ({', '.join(map(repr, values[:5]))}); "
            "expected numbers, or two texts with --family binomial."
        )
    counted = values[1] if success is None else success
    if counted not in values:
        raise UsageError(f"--success {counted!r}: the target holds {values[0]!r} and {values[1]!r}.")
    return frame.assign(**{target: (frame[target].astype(str) == counted).astype("int64")}), counted


def fit(model: GLM, formula: str, frame: pd.DataFrame, named: Mapping[str, str | None], console: Console) -> list[str]:
    """Fit the model; returns its warnings.

    Parameters
    ----------
    model : GLM
    formula : str
    frame : data frame
    named : mapping of str to str or None
        Columns of ``offset``, ``exposure``, ``sample_weight`` and ``frequency_weight``.
    console : Console
    """
    from formulaic.errors import FormulaicError

    given = {name: column for name, column in named.items() if column is not None}
    for name, column in given.items():
        if frame[column].dtype.kind not in "iuf":
            raise DataError(f"The column {column!r} for {name.replace('_', ' ')} holds texts; expected numbers.")
    with warnings.catch_warnings(record=True) as caught, console.progress("fitting"):
        warnings.simplefilter("always")
        try:
            model.fit_formula(formula, frame, **given)
        except FormulaicError as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise UsageError(f"The formula {formula!r} cannot be applied to the table: {first}") from None
    own = [w for w in caught if issubclass(w.category, UserWarning)]
    return list(dict.fromkeys(str(warning.message) for warning in own))


def cautions(model: GLM, family: str) -> list[str]:
    """What a reader of the table should know.

    Parameters
    ----------
    model : GLM
    family : str
    """
    found = []
    spread = model.pearson_chi2_ / model.df_residual_ if model.df_residual_ > 0 else math.nan
    if family in ("poisson", "binomial") and spread > OVERDISPERSED:
        other = "quasipoisson or negative_binomial" if family == "poisson" else "quasibinomial"
        found.append(
            f"The target varies {spread:.1f} times as much as the {family} family has it, so the standard errors are "
            f"too small. Try --family {other}, or --robust."
        )
    if family == "negative_binomial" and spread < 1.0 / OVERDISPERSED:
        found.append(f"The target varies less than the family has it ({spread:.2f}). Try --family poisson.")
    return found


def coefficient_lines(model: GLM, level: float, *, ratios: bool) -> list[str]:
    """The table of coefficients, and on request their exponentials.

    Parameters
    ----------
    model : GLM
    level : float
        Of the intervals.
    ratios : bool
        Add the factors by which a unit more multiplies the mean (or the odds).
    """
    import numpy as np

    from softcount.cli.wording import table_lines

    lines = str(model.summary(level)).splitlines()
    if not ratios:
        return [printable(line) for line in lines]
    word = "odds ratio" if model.link_.name == "logit" else "ratio"
    intervals = np.exp(model.conf_int(level))
    estimates = [model.intercept_, *model.coef_.tolist()] if model._has_intercept() else model.coef_.tolist()
    rows = [
        (name, f"{math.exp(min(value, 700.0)):.5g}", f"{low:.5g}", f"{high:.5g}")
        for name, value, (low, high) in zip(model.coefficient_names_, estimates, intervals, strict=True)
    ]
    share = f"{100.0 * level:g} %"
    table = table_lines(("term", word, f"{share} from", "to"), rows)
    return [printable(line) for line in [*lines, "", *table]]


def glm_content(model: GLM, level: float) -> dict[str, Any]:
    """The table and the fit for JSON.

    Parameters
    ----------
    model : GLM
    level : float
    """
    table = model.summary(level)
    columns = table.columns
    names = ("estimate", "standard_error", "statistic", "p_value", "lower", "upper")
    cells = [columns[heading].tolist() for heading in list(columns)[:6]]
    return {
        "family": model.family_.name,
        "link": model.link_.name,
        "level": level,
        "coefficients": [
            {"term": term, **dict(zip(names, values, strict=True))}
            for term, values in zip(table.names, zip(*cells, strict=True), strict=True)
        ],
        "n_observations": model.n_observations_,
        "df_residual": model.df_residual_,
        "deviance": model.deviance_,
        "null_deviance": model.null_deviance_,
        "pearson_chi2": model.pearson_chi2_,
        "dispersion": model.dispersion_,
        "theta": getattr(model, "theta_", None),
        "log_likelihood": model.log_likelihood_,
        "aic": model.aic_,
        "bic": model.bic_,
        "aliased": model.aliased_,
        "separated": model.separated_,
        "n_iter": model.n_iter_,
        "converged": bool(model.converged_),
    }


def predict(model: Any, piece: RawTable, marks: Any) -> list[float]:
    """The mean of every row of a table, by a model that ``softcount glm`` made.

    Parameters
    ----------
    model : GLM
    piece : RawTable
    marks : collection of str
        Texts that stand for a missing value.
    """
    from softcount.estimators.glm.design import FormulaDesign

    origin = model.origin_
    design: FormulaDesign = model._formula.design
    shifts = {name: origin[name] for name in ("offset", "exposure") if origin.get(name) is not None}
    needed = [*design.variables, *shifts.values()]
    absent = [name for name in dict.fromkeys(needed) if name not in piece.columns]
    if absent:
        raise DataError(f"The model was fitted with the columns {absent}, which are not there.")
    part, _ = without_missing(piece, list(dict.fromkeys(needed)), marks, drop=False)
    columns: dict[str, Any] = {}
    for name in part.columns:
        columns[name] = _cells(part, name, design.variables.get(name), origin.get("styles", {}).get(name, "plain"))
    given = {name: columns[column] for name, column in shifts.items()}
    found: list[float] = model.predict(columns, **given).tolist()
    return found


def _cells(table: RawTable, name: str, levels: Sequence[Any] | None, style: str) -> list[Any]:
    """The cells of a column as the model knows them; errors name the line."""
    import numpy as np

    cells = table.columns[name]
    if levels is None:
        values, wrong = parse_numbers(cells, np.zeros(table.n_rows, dtype=bool), style)
        if wrong.size:
            first = int(wrong[0])
            raise DataError(
                f"{table.where(first).capitalize()}, column {name!r} holds {cells[first]!r}; expected a number."
            )
        return list(values.tolist())
    known = {_spelled(level): level for level in levels}
    found = []
    for row, cell in enumerate(cells):
        level = known.get(_spelled(cell))
        if level is None and _spelled(cell) not in known:
            raise DataError(
                f"{table.where(row).capitalize()}, column {name!r} holds {cell!r}, which was not there when the model "
                f"was fitted; there were {', '.join(map(repr, list(known)[:20]))}."
            )
        found.append(level)
    return found


def _spelled(value: Any) -> str:
    """A value as text, so that 1, 1.0 and "1" from different formats are the same."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
