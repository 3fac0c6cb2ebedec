"""The parameters all generative classifiers share, documented once."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray

__all__ = ["check_number", "documented", "read_class_prior"]

T = TypeVar("T", bound=type)

SHARED = """\
    class_alpha : float, default=0.0
        Pseudo-rows added to every class when its probability is estimated; 1 is Laplace's ``(N_k + 1)/(N + K)``.
    feature_prior : prior from :mod:`softcount.priors`, optional
        An explicit conjugate prior instead of the smoothing parameter.
    estimate : {"mode", "mean"}, default="mode"
        Whether an explicit ``feature_prior`` gives the mode (MAP) or the mean of the posterior.
    missing_label : scalar, default=nan
        Marker of a missing label; NaN, None and ``pd.NA`` always are.
    classes : array-like, optional
        All classes, when some have no labeled row.
    n_classes : int, optional
        Number of classes, when some have no labeled row; the new ones get names of their own.
    soft_labels : {"responsibility", "prior"}, default="responsibility"
        What a row of class probabilities in ``y`` means: the row's responsibilities, kept as they are, or factors that
        multiply the class prior and are then updated by the row.
    unlabeled_weight : "auto" or float, default="auto"
        How rows without any label are used. ``"auto"`` decides by cross-validation on the labeled rows between leaving
        them out, using them for the columns' overall distributions, and EM (see ``unlabeled_verdict_``); a number is
        the factor on their weight in plain EM (EM-lambda), where 0 learns from the labeled rows alone.
    calibrate : {"auto", "none", "temperature", "isotonic"}, default="auto"
        How ``predict_proba`` is calibrated, on posteriors cross-fitted on the labeled rows. ``"auto"`` means
        temperature where ``unlabeled_weight="auto"`` had unlabeled rows to decide about, and none elsewhere.
    n_components_per_class : int, sequence or dict, default=1
        Mixture components of each class.
    init : str, array or estimator, optional
        Where EM starts: ``"labeled"`` (default: the closed form of the labeled rows), ``"uniform"``, ``"random"``,
        responsibilities of shape (n_samples, n_components), or a fitted estimator of the same kind.
    n_init : int, optional
        Starts; by default 10 where some component has to start at random, else 1. The best is kept.
    max_iter : int, default=200
        Most EM iterations.
    tol : float, default=1e-6
        EM has converged when the gain, and the gain still expected, are at most this share of the objective;
        0 runs exactly ``max_iter`` iterations.
    accelerate : bool, default=False
        Leap along the path of EM (SQUAREM); the objective still never falls.
    annealing : sequence of float, optional
        Temperatures above 1 to run through, from hot to cold, before the last run at 1.
    random_state : int, Generator, RandomState or None
        Seed of random starts.
    n_jobs : int, optional
        Threads; all usable cores by default. The result does not depend on it.
    verbose : int, default=0
        1 prints every tenth iteration to standard error, 2 every one."""

ATTRIBUTES = """\
    n_features_in_ : int
        Columns of X; where they have names, ``feature_names_in_`` holds them.
    n_parameters_ : int
        Free parameters.
    converged_, n_iter_, history_
        Whether EM converged, its iterations, and the monitored objective after each; one pass with all labels.
    n_starts_, n_best_starts_ : int
        Starts, and those that reached the best objective.
    unlabeled_use_, unlabeled_weight_ : str and float
        How rows without a label were used ("none", "marginals" or "full"), and the factor on their weight.
    unlabeled_verdict_ : object or None
        What they were worth, in numbers and, printed, in a sentence; None where there was nothing to decide.
    calibration_ : object or None
        What ``predict_proba`` is calibrated by.
    notes_ : list of str
        What is worth knowing about the fit.
    model_, params_, counts_
        The fitted mixture of families, its parameters, and the counts they were solved from."""


def documented(cls: T) -> T:
    """Put the shared parameters and attributes where the class docstring says ``{shared}`` and ``{attributes}``."""
    if cls.__doc__:
        cls.__doc__ = cls.__doc__.replace("    {shared}", SHARED).replace("    {attributes}", ATTRIBUTES)
    return cls


def check_number(name: str, value: Any, lowest: float, *, whole: bool = False) -> None:
    """Refuse a parameter that is not a finite number, or whole number, of at least ``lowest``."""
    kind: Any = Integral if whole else Real
    if isinstance(value, kind) and np.isfinite(value) and value >= lowest:
        return
    bound = "" if lowest == -np.inf else f" of {lowest:g} or more"
    raise InputError(f"{name} is {value!r}; give a {'whole' if whole else 'finite'} number{bound}.")


def read_class_prior(name: str, value: Any, n_classes: int, *, must_sum: bool = False) -> FloatArray:
    """Given class probabilities, one per class.

    Those that do not sum to 1 are divided by their sum, with a warning, or refused where they ``must_sum`` to 1.
    """
    try:
        prior = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; give one probability for each class.") from None
    if prior.shape != (n_classes,):
        raise InputError(
            f"Number of priors must match number of classes: {name} has the shape {prior.shape}, expected "
            f"({n_classes},)."
        )
    wrong = ~(np.isfinite(prior) & (prior >= 0.0))
    if wrong.any() or not prior.any():
        raise InputError(
            f"Priors must be non-negative: {name} is {prior.tolist()}; give a probability of 0 or more for each class, "
            "at least one of them above 0."
        )
    total = prior.sum()
    if np.isclose(total, 1.0):
        return prior
    if must_sum:
        raise InputError(f"The sum of the priors should be 1, but that of {prior.tolist()} is {total:.6g}.")
    warnings.warn(
        f"{name} is {prior.tolist()}, which sums to {total:.6g}; it was divided by that. Give probabilities that "
        "sum to 1.",
        UserWarning,
        stacklevel=2,
    )
    return np.asarray(prior / total)


def read_alpha(value: Any, n_features: int) -> FloatArray:
    """Pseudo-counts as an array that broadcasts to (n_features, n_classes).

    Parameters
    ----------
    value : float or array-like
        One number, one per feature, or the user's (n_classes, n_features) or (n_classes, 1).
    n_features : int
    """
    try:
        alpha = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"alpha is {value!r}; pseudo-counts are numbers of 0 or more.") from None
    if alpha.ndim == 1 and alpha.shape[0] != n_features:
        raise InputError(
            "When alpha is an array, it should contains `n_features`. "
            f"Got {alpha.shape[0]} elements instead of {n_features}."
        )
    if alpha.ndim > 2 or (alpha.ndim == 2 and alpha.shape[1] not in (1, n_features)):
        raise InputError(
            f"alpha has the shape {alpha.shape}; give one number, one for each of the {n_features} "
            "columns, or an array of shape (n_classes, n_features) or (n_classes, 1)."
        )
    if not (np.isfinite(alpha) & (alpha >= 0.0)).all():
        raise InputError(f"All values in alpha must be numbers of 0 or more, but alpha is {value!r}.")
    if alpha.ndim == 2:
        return np.ascontiguousarray(alpha.T)
    return alpha[:, None] if alpha.ndim == 1 else alpha
