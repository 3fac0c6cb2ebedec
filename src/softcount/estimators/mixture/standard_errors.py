"""Estimates of a mixture with their standard errors and intervals, as tables and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from softcount._errors import InputError
from softcount._optional import need
from softcount._types import FloatArray
from softcount.core.components import BOUNDARY
from softcount.core.information import COVARIANCES
from softcount.estimators.mixture.description import ParameterRow, number_text, row_label

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StandardErrors", "check_covariance"]

BOUNDARY_NOTE, UNDETERMINED_NOTE = "on the boundary", "not determined"
#: Quantities between 0 and 1, and those above 0: their intervals stay there.
SHARES, POSITIVE = ("probability", "weight"), ("variance", "rate")


def check_covariance(covariance: Any) -> None:
    """Refuse anything but the covariances there are."""
    if covariance not in COVARIANCES:
        raise InputError(f"covariance is {covariance!r}; choose one of {', '.join(map(repr, COVARIANCES))}.")


@dataclass(frozen=True)
class StandardErrors:
    """Standard errors of a mixture's weights and parameters; ``str()`` prints them beside the estimates.

    Attributes
    ----------
    names : sequence
        Names of the components.
    weights, weight_errors : arrays of shape (n_components,)
        The components' weights and their standard errors.
    rows : tuple of pairs of ParameterRow
        Every parameter and its standard error, in every component. NaN marks an estimate on the boundary of what is
        possible, where there is no standard error; infinity one that the rows do not determine.
    covariance : str
        How they were worked out.
    is_maximum : bool
        Whether the information is positive, as it is at a maximum.
    """

    names: Sequence[Any]
    weights: FloatArray
    weight_errors: FloatArray
    rows: tuple[tuple[ParameterRow, ParameterRow], ...]
    covariance: str
    is_maximum: bool = True

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before the numbers are used."""
        if not self.is_maximum:
            return (
                "the log-likelihood bends upwards somewhere, so these parameters are no maximum and have no standard "
                "errors. Lower tol or raise max_iter, and give the rows, labels and weights of the fit",
            )
        errors = np.concatenate([self.weight_errors, *(error.values for _, error in self.rows)])
        n_edge, n_lost = int(np.isnan(errors).sum()), int(np.isinf(errors).sum())
        found = []
        if n_edge:
            found.append(
                f"{n_edge} estimates lie on the boundary (a probability of 0 or 1, a smallest variance), where there "
                "are no standard errors; those of the others hold with these kept there. alpha=0.1 keeps off the edge"
            )
        if n_lost:
            found.append(f"{n_lost} estimates are not determined by the rows: other values fit equally well")
        return tuple(found)

    def _entries(self) -> Iterator[tuple[Any, str | None, Any, str, float, float]]:
        for k, name in enumerate(self.names):
            yield name, None, None, "weight", float(self.weights[k]), float(self.weight_errors[k])
        for row, error in self.rows:
            for k, name in enumerate(self.names):
                yield name, row.column, row.category, row.quantity, float(row.values[k]), float(error.values[k])

    def frame(self, level: float = 0.95) -> pd.DataFrame:
        """A row per component, column and quantity: estimate, standard error, interval (needs pandas).

        Intervals of probabilities and weights are symmetric in the logit, those of variances and rates in the
        logarithm, so that they stay inside what is possible.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the intervals.
        """
        need("pandas", "A data frame")
        import pandas as pd

        if not 0.0 < level < 1.0:
            raise InputError(f"level is {level!r}; a confidence level lies between 0 and 1.")
        z = float(norm.ppf(0.5 + level / 2.0))
        rows = []
        for name, column, category, quantity, value, error in self._entries():
            note = BOUNDARY_NOTE if np.isnan(error) else UNDETERMINED_NOTE if np.isinf(error) else ""
            low, high = _interval(quantity, value, error, z)
            rows.append((name, column, category, quantity, value, error, low, high, note))
        names = ["component", "column", "category", "quantity", "estimate", "standard_error", "lower", "upper", "note"]
        # Categories stay what they are, whatever stands beside them.
        return pd.DataFrame(
            {
                name: pd.Series(part, dtype=_kind(part))
                for name, part in zip(names, zip(*rows, strict=True), strict=True)
            }
        )

    def __str__(self) -> str:
        entries = [("size" if row is None else row_label(row), pair) for row, pair in self._pairs()]
        cells = [[_cell(v, e) for v, e in zip(*pair, strict=True)] for _, pair in entries]
        heads = [str(name) for name in self.names]
        width = max(len(cell) for line in [heads, *cells] for cell in line)
        first = max(len(label) for label, _ in entries)
        lines = [f"Estimates with standard errors ({_MEANING[self.covariance]})", ""]
        lines.append(" " * first + "".join("  " + head.rjust(width) for head in heads))
        for (label, _), line in zip(entries, cells, strict=True):
            lines.append(label.ljust(first) + "".join("  " + cell.rjust(width) for cell in line))
        return "\n".join([*lines, *([""] if self.notes else []), *(f"Note: {note}." for note in self.notes)])

    def _pairs(self) -> Iterator[tuple[ParameterRow | None, tuple[FloatArray, FloatArray]]]:
        yield None, (self.weights, self.weight_errors)
        for row, error in self.rows:
            yield row, (row.values, error.values)


_MEANING = {
    "observed": "inverse of the observed information",
    "scores": "inverse of the products of the scores",
    "sandwich": "sandwich of information and scores",
    "survey": "sandwich with survey weights",
}


def _kind(part: Sequence[Any]) -> type:
    return float if all(isinstance(value, float) for value in part) else object


def _cell(value: float, error: float) -> str:
    if np.isnan(error):
        # 1e-24 says no more than 0 there.
        return f"{number_text(value) if abs(value) > BOUNDARY else '0.0000'} (boundary)"
    return f"{number_text(value)} ({'undetermined' if np.isinf(error) else number_text(error)})"


def _interval(quantity: str, value: float, error: float, z: float) -> tuple[float, float]:
    """Ends of the confidence interval of one quantity."""
    if not np.isfinite(error):
        return float("nan"), float("nan")
    if quantity in SHARES and 0.0 < value < 1.0:
        center, spread = np.log(value) - np.log1p(-value), error / (value * (1.0 - value))
        low, high = 1.0 / (1.0 + np.exp(-(center - z * spread))), 1.0 / (1.0 + np.exp(-(center + z * spread)))
        return float(low), float(high)
    if quantity in POSITIVE and value > 0.0:
        factor = np.exp(z * error / value)
        return float(value / factor), float(value * factor)
    return value - z * error, value + z * error
