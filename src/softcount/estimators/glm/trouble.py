"""What a fit ran into, said once and with what to do about it."""

from __future__ import annotations

import warnings

from softcount._errors import ConvergenceWarning
from softcount.core.glm.families.negative_binomial import LARGEST_THETA
from softcount.core.glm.fit import GLMFit
from softcount.core.journal import way_on

__all__ = ["AliasedColumnsWarning", "SeparationWarning", "warn_about"]

# A remaining gain below this share of the objective is rounding.
NEGLIGIBLE_GAIN = 1e-6
MOST_NAMES = 10


class AliasedColumnsWarning(UserWarning):
    """Columns are linear combinations of the columns before them; their coefficients are 0."""


class SeparationWarning(ConvergenceWarning):
    """Some coefficients have no finite maximum-likelihood estimate."""


def warn_about(found: GLMFit, labels: list[str], tol: float, max_iter: int) -> None:
    """Warn of aliased columns, separation, a fit that stopped early, and a theta without bound."""
    aliased = [name for name, out in zip(labels, found.aliased, strict=True) if out]
    if aliased:
        _warn(
            f"{_columns(aliased)} linear combination{'s' if len(aliased) > 1 else ''} of the columns before: the data "
            "cannot tell them apart, so the coefficient is 0 and the standard error not a number (R prints NA). Drop "
            "the column, or add a penalty (alpha > 0).",
            AliasedColumnsWarning,
        )
    fit = found.fit
    growing = [
        f"{name!r} ({value:.4g})"
        for name, value, out in zip(labels, fit.params.coef, found.diverging, strict=True)
        if out
    ]
    if growing:
        _warn(
            f"The outcomes are separated: the likelihood rises for ever as the coefficients of {', '.join(growing)} "
            "grow (values when the fit was stopped), so their standard errors mean nothing. Add a penalty, for example "
            "alpha=1e-3, or leave the column out.",
            SeparationWarning,
        )
    elif fit.interrupted:
        text = f"Interrupted after {fit.n_iter} iterations; the model is the last finished one."
        _warn(text + way_on(), ConvergenceWarning)
    elif found.edge_row is not None:
        _warn(
            f"The best fit lies at the edge of the means the family can have (row {found.edge_row}), where standard "
            "errors mean nothing. Choose a link that keeps the mean inside, for example 'log'.",
            ConvergenceWarning,
        )
    elif fit.params.stuck and found.gain_ahead > NEGLIGIBLE_GAIN * abs(fit.objective):
        _warn(
            f"No step raises the likelihood after {fit.n_iter} iterations, though its slope is not zero. Put the "
            "columns on a common scale, or choose another link.",
            ConvergenceWarning,
        )
    elif not fit.converged and tol > 0.0:
        last = fit.history[-1]
        _warn(
            f"Not converged after max_iter={max_iter} iterations: the last one still gained {last.change:.3g} on an "
            f"objective of {last.objective:.6g}. Raise max_iter or tol, or put the columns on a common scale.",
            ConvergenceWarning,
        )
    if found.model.estimates_theta and fit.params.theta >= 0.99 * LARGEST_THETA:
        _warn(
            "Theta of the negative binomial family grew without bound: the counts vary no more than Poisson counts "
            "would. Use family='poisson'.",
            ConvergenceWarning,
        )


def _columns(names: list[str]) -> str:
    quoted = ", ".join(repr(name) for name in names[:MOST_NAMES])
    if len(names) > MOST_NAMES:
        quoted += f" and {len(names) - MOST_NAMES} more"
    return f"Column {quoted} is a" if len(names) == 1 else f"Columns {quoted} are"


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=5)
