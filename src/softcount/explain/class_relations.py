"""Variables by component, as tables and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scipy.stats import norm

from softcount._errors import InputError
from softcount._optional import need
from softcount._types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ClassEffects", "ClassOutcomes"]


@dataclass(frozen=True)
class ClassOutcomes:
    """Mean, or shares of the values, of a variable in every component.

    Attributes
    ----------
    name : str
        The variable.
    components : sequence
        Names of the components.
    values : tuple or None
        The values whose shares are estimated; None for the mean of a number.
    estimates, errors : arrays of shape (n_components, n_values)
        Means or shares, and their standard errors.
    statistic, df, p_value : float, int, float
        Wald's test that all components are the same.
    n_rows, n_missing : float
        Weight of the rows, and of those that were left out because the variable is missing.
    method : str
    note : str
        What to know about the standard errors.
    """

    name: str
    components: Sequence[Any]
    values: tuple[Any, ...] | None
    estimates: FloatArray
    errors: FloatArray
    statistic: float
    df: int
    p_value: float
    n_rows: float
    n_missing: float
    method: str
    note: str = ""

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """A row per component and value, with confidence intervals (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        z = _quantile(level)
        rows = []
        for k, name in enumerate(self.components):
            for v, value in enumerate((None,) if self.values is None else self.values):
                estimate, error = float(self.estimates[k, v]), float(self.errors[k, v])
                rows.append((name, value, estimate, error, estimate - z * error, estimate + z * error))
        return pd.DataFrame(rows, columns=["component", "value", "estimate", "standard_error", "lower", "upper"])

    def __str__(self) -> str:
        what = "mean" if self.values is None else "shares"
        rows = [(what if self.values is None else str(value)) for value in self.values or (None,)]
        lines = [f"{self.name}: {what} by component ({self.method}), {self.n_rows:g} rows", ""]
        lines += _lines(self.components, rows, self.estimates.T, self.errors.T)
        lines += ["", f"All the same: chi-squared {self.statistic:.4f}, df {self.df}, p = {self.p_value:.4g}"]
        if self.n_missing:
            lines.append(f"Note: {self.n_missing:g} rows where {self.name} is missing were left out.")
        lines += [f"Note: {self.note}"] if self.note else []
        return "\n".join(lines)


@dataclass(frozen=True)
class ClassEffects:
    """Effects of covariates on which component a row is in: log-odds against the first component.

    Attributes
    ----------
    names : list of str
        The intercept and the covariates.
    components : sequence
    coefficients, errors : arrays of shape (n_components, n_coefficients)
        Zero for the first component.
    tests : list of (float, int, float)
        Of every coefficient, Wald's test that it is zero in all components: statistic, df, p-value.
    n_rows : float
    method : str
    note : str
        What to know about the standard errors.
    """

    names: list[str]
    components: Sequence[Any]
    coefficients: FloatArray
    errors: FloatArray
    tests: list[tuple[float, int, float]]
    n_rows: float
    method: str
    note: str = ""

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """A row per component and coefficient, with confidence intervals and p-values (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        z = _quantile(level)
        rows = []
        for k, component in enumerate(self.components):
            if k == 0:
                continue
            for j, name in enumerate(self.names):
                value, error = float(self.coefficients[k, j]), float(self.errors[k, j])
                p_value = float(2.0 * norm.sf(abs(value) / error)) if error > 0.0 else float("nan")
                rows.append((component, name, value, error, value - z * error, value + z * error, p_value))
        names = ["component", "covariate", "log_odds", "standard_error", "lower", "upper", "p_value"]
        return pd.DataFrame(rows, columns=names)

    def __str__(self) -> str:
        lines = [f"Log-odds against component {self.components[0]} ({self.method}), {self.n_rows:g} rows", ""]
        lines += _lines(self.components, self.names, self.coefficients.T, self.errors.T)
        lines += [""]
        # What the intercept says depends on where the covariates have their zero, so its test is nobody's question.
        for name, (statistic, df, p_value) in list(zip(self.names, self.tests, strict=True))[1:]:
            lines.append(f"{name}: no effect on any component, chi-squared {statistic:.4f}, df {df}, p = {p_value:.4g}")
        lines += [f"Note: {self.note}"] if self.note else []
        return "\n".join(lines)


def _quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InputError(f"level is {level!r}; a confidence level lies between 0 and 1.")
    return float(norm.ppf(0.5 + level / 2.0))


def _lines(components: Sequence[Any], rows: Sequence[str], estimates: FloatArray, errors: FloatArray) -> list[str]:
    cells = [
        [f"{v:.4f} ({e:.4f})" for v, e in zip(values, own, strict=True)]
        for values, own in zip(estimates, errors, strict=True)
    ]
    heads = [str(name) for name in components]
    width = max(len(cell) for line in [heads, *cells] for cell in line)
    first = max(map(len, rows))
    lines = [" " * first + "".join("  " + head.rjust(width) for head in heads)]
    lines += [
        row.ljust(first) + "".join("  " + c.rjust(width) for c in line) for row, line in zip(rows, cells, strict=True)
    ]
    return lines
