"""The table of coefficients that linear models print: estimate, standard error, test, interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from softcount._errors import InputError
from softcount._optional import need
from softcount._types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CoefficientTable", "check_level", "critical_value"]


@dataclass(frozen=True)
class CoefficientTable:
    """Coefficients with their uncertainty; ``str()`` is a plain-text table, ``frame()`` a data frame.

    Attributes
    ----------
    names : sequence of str
        One per coefficient, the intercept first where there is one.
    estimates, standard_errors : arrays of shape (n_coefficients,)
        Aliased and unpenalizable coefficients have a standard error that is not a number.
    df : float
        Degrees of freedom of the t distribution; infinite for the normal.
    level : float
        Confidence level of the intervals.
    title : str
        First line of the text.
    facts : mapping of str to value
        Printed above the table: family, deviance, ...
    notes : sequence of str
        Printed below it: warnings that belong to the numbers.
    extra : mapping of str to array
        Further columns, for example odds ratios.

    Examples
    --------
    >>> import numpy as np
    >>> table = CoefficientTable(["x"], np.array([2.0]), np.array([0.5]))
    >>> round(float(table.statistics[0]), 1)
    4.0
    """

    names: Sequence[str]
    estimates: FloatArray
    standard_errors: FloatArray
    df: float = math.inf
    level: float = 0.95
    title: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    notes: Sequence[str] = ()
    extra: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def statistics(self) -> FloatArray:
        """Estimate over standard error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.estimates / self.standard_errors

    @property
    def p_values(self) -> FloatArray:
        """Two-sided, from the t distribution (the normal one for infinite degrees of freedom)."""
        size = np.abs(self.statistics)
        tail = stats.norm.sf(size) if math.isinf(self.df) else stats.t.sf(size, self.df)
        return np.asarray(2.0 * tail, dtype=np.float64)

    @property
    def intervals(self) -> FloatArray:
        """Lower and upper limits, shape ``(n_coefficients, 2)``."""
        reach = critical_value(self.level, self.df) * self.standard_errors
        return np.column_stack([self.estimates - reach, self.estimates + reach])

    @property
    def columns(self) -> dict[str, FloatArray]:
        """All columns by heading."""
        letter = "z" if math.isinf(self.df) else "t"
        low, high = self.intervals.T
        percent = f"{100.0 * self.level:g}%"
        return {
            "estimate": self.estimates,
            "std. error": self.standard_errors,
            letter: self.statistics,
            f"p > |{letter}|": self.p_values,
            f"lower {percent}": low,
            f"upper {percent}": high,
            **self.extra,
        }

    def frame(self) -> pd.DataFrame:
        """The table as a data frame, one row per coefficient (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        return pd.DataFrame(self.columns, index=pd.Index(list(self.names), name="term"))

    def __str__(self) -> str:
        columns = self.columns
        cells = {
            heading: [_cell(value, is_p=heading.startswith("p >")) for value in values]
            for heading, values in columns.items()
        }
        widths = {heading: max(len(heading), *map(len, column)) for heading, column in cells.items()}
        first = max([len("term"), *map(len, self.names)])
        header = "  ".join(["term".ljust(first), *(h.rjust(w) for h, w in widths.items())])
        lines = [
            "  ".join([name.ljust(first), *(cells[h][row].rjust(w) for h, w in widths.items())])
            for row, name in enumerate(self.names)
        ]
        rule = "-" * len(header)
        above = [f"{label}: {_fact(value)}" for label, value in self.facts.items()]
        title = [self.title, "=" * len(self.title)] if self.title else []
        return "\n".join([*title, *above, rule, header, rule, *lines, rule, *self.notes])


def check_level(level: float) -> float:
    """``level`` as a float between 0 and 1, or an error."""
    if not 0.0 < float(level) < 1.0:
        raise InputError(f"level={level!r} is no confidence level; expected a number between 0 and 1, as 0.95.")
    return float(level)


def critical_value(level: float, df: float) -> float:
    """How many standard errors an interval of this level reaches to either side.

    Examples
    --------
    >>> round(critical_value(0.95, math.inf), 2)
    1.96
    """
    upper = 0.5 + 0.5 * check_level(level)
    if math.isinf(df):
        return float(stats.norm.ppf(upper))
    return float(stats.t.ppf(upper, df)) if df > 0.0 else math.nan


def _cell(value: float, *, is_p: bool) -> str:
    if math.isnan(value):
        return "."
    if is_p:
        return "<0.0001" if value < 1e-4 else f"{value:.4f}"
    return f"{value:.5g}"


def _fact(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
