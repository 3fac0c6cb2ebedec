"""Another fitted estimator as the start of a fit."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount.core.mixture import MixtureParams

__all__ = ["params_of"]


def params_of(other: Any, estimator: Any) -> MixtureParams:
    """The parameters of a fitted estimator, after a check that they are parameters of this one's families.

    Parameters
    ----------
    other : GenerativeEstimator
        What the user gave as ``init``.
    estimator : GenerativeEstimator
        Who is being fitted; its columns have been read.
    """
    check_is_fitted(other, "params_")
    asker, giver = type(estimator).__name__, type(other).__name__
    if other.n_features_in_ != estimator.n_features_in_:
        raise InputError(
            f"init is a {giver} fitted to {other.n_features_in_} columns, but X has {estimator.n_features_in_}. Give "
            "one that was fitted to the same columns."
        )
    mine, theirs = estimator._families(), other.model_.families
    if [type(family) for family in mine] != [type(family) for family in theirs]:
        raise InputError(
            f"init is a {giver} with columns of the family {_names(theirs)}, but {asker} has {_names(mine)}. Give a "
            "fitted estimator of the same kind."
        )
    if _values(mine) != _values(theirs):
        raise InputError(
            f"init is a {giver} fitted to categorical columns with other values than those of X (or with another "
            f"handle_unknown). Give a {asker} that was fitted to columns with the same values."
        )
    params: MixtureParams = other.params_
    return params


def _values(families: Any) -> list[Any]:
    """How many values the columns of categorical families have; None for others."""
    return [(getattr(f, "n_values", None), getattr(f, "with_unseen", None)) for f in families]


def _names(families: Any) -> str:
    return ", ".join(dict.fromkeys(family.name for family in families))
