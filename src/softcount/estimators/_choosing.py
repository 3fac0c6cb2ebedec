"""How a classifier uses rows without a label when it may decide, and how its probabilities are calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.calibration import Calibration, fit_isotonic
from softcount.core.candidates import FULL, GIVEN, NONE, row_lengths, usable_rows
from softcount.core.chunks import Chunks, Rows
from softcount.core.crossfit import HeldOut, finite_log_posterior
from softcount.core.execute import Executor
from softcount.core.learn import Learned, Plan, learn
from softcount.core.mixture import MixtureModel
from softcount.core.unlabeled import can_choose, choose, held_out_as_given
from softcount.core.verdict import Verdict
from softcount.estimators._parameters import check_number
from softcount.families.blocks import Block

__all__ = ["AUTO", "CALIBRATIONS", "Outcome", "calibrated", "check_choices", "fit_with_choice"]

AUTO = "auto"
CALIBRATIONS = ("auto", "none", "temperature", "isotonic")


@dataclass(frozen=True)
class Outcome:
    """A fit, how it used the unlabeled rows, and how to calibrate it.

    Attributes
    ----------
    learned : Learned
    use : {"none", "marginals", "full"}
    weight : float
        The factor on the weight of unlabeled rows.
    verdict : Verdict or None
        Where there was something to decide.
    calibration : Calibration or None
    """

    learned: Learned
    use: str
    weight: float
    verdict: Verdict | None
    calibration: Calibration | None


def check_choices(unlabeled_weight: Any, calibrate: str) -> None:
    """Refuse what ``unlabeled_weight`` and ``calibrate`` cannot be."""
    if isinstance(unlabeled_weight, str):
        if unlabeled_weight != AUTO:
            raise InputError(f"unlabeled_weight is {unlabeled_weight!r}; use 'auto' or a number of 0 or more.")
    else:
        check_number("unlabeled_weight", unlabeled_weight, 0)
    if calibrate not in CALIBRATIONS:
        raise InputError(f"calibrate is {calibrate!r}; choose one of {', '.join(map(repr, CALIBRATIONS))}.")


def fit_with_choice(
    model: MixtureModel,
    executor: Executor,
    chunks: Rows,
    plan: Plan,
    *,
    is_auto: bool,
    calibrate: str,
    tell: Callable[[str], None] | None = None,
) -> Outcome:
    """Fit the model; decide how unlabeled rows are used if asked to, and calibrate.

    Parameters
    ----------
    model, executor, chunks, plan
        As for :func:`softcount.core.learn.learn`.
    is_auto : bool
        Whether ``unlabeled_weight`` is "auto".
    calibrate : str
        One of :data:`CALIBRATIONS`; "auto" calibrates where the use of unlabeled rows was chosen by cross-validation
        anyway, and leaves fits of complete labels alone.
    tell : callable or None
        Is told what the fit is doing beside its iterations.
    """
    chooses = is_auto and can_choose(model, chunks)
    if model.n_classes == 1 and chunks.has_labels and 0 < chunks.facts.n_unlabeled < chunks.n_rows:
        warnings.warn(
            "All rows with a label are of one class, so every other row is taken to be of it too. Label some rows of "
            "each other class, or name the other classes with classes=.",
            UserWarning,
            stacklevel=4,
        )
    # A temperature has a stand-in where no label can be held out, if there are unlabeled rows to choose about.
    if calibrate == "isotonic" or (calibrate == "temperature" and not chooses):
        _check_rows_to_hold_out(chunks, calibrate)
    if chooses:
        choice = choose(model, executor, chunks, plan, tell)
        calibration = None
        if calibrate != "none" and choice.cooling is not None:
            calibration = _calibration(calibrate, choice.cooling, choice.held_out, choice.use)
        weight = 0.0 if choice.use == NONE else 1.0
        return Outcome(choice.learned, choice.use, weight, choice.verdict, calibration)
    learned = learn(model, executor, chunks, plan)
    calibration = None
    if calibrate in ("temperature", "isotonic") and not learned.fit.interrupted:
        try:
            held_out = held_out_as_given(model, executor, chunks, plan, n_iter=learned.fit.n_iter, tell=tell)
            calibration = _calibration(calibrate, held_out.cooling(GIVEN), held_out, GIVEN)
        except KeyboardInterrupt:
            learned = replace(learned, fit=replace(learned.fit, interrupted=True))
    return Outcome(learned, _use_as_given(model, chunks), model.unlabeled_weight, None, calibration)


def _use_as_given(model: MixtureModel, chunks: Rows) -> str:
    """What a given weight makes of the rows without a label: nothing with weight 0, or where there are none."""
    if not isinstance(chunks, Chunks):
        return FULL if chunks.facts.n_unlabeled > 0 and model.unlabeled_weight > 0.0 else NONE
    if chunks.labels is None:
        return FULL
    any_unlabeled = bool((chunks.labels.is_unlabeled() & usable_rows(chunks)).any())
    return FULL if any_unlabeled and model.unlabeled_weight > 0.0 else NONE


def _check_rows_to_hold_out(chunks: Rows, calibrate: str) -> None:
    if not isinstance(chunks, Chunks):
        if chunks.facts.labeled is not None and chunks.facts.labeled.max(initial=0) >= 2:
            return
    elif chunks.labels is not None:
        known = (chunks.labels.codes >= 0) & usable_rows(chunks)
        if known.any() and np.bincount(chunks.labels.codes[known]).max() >= 2:
            return
    raise InputError(
        f"calibrate={calibrate!r} needs labeled rows to hold out, at least 2 in some class; there are none. Label more "
        "rows, or use calibrate='none'."
    )


def _calibration(kind: str, rho: float, held_out: HeldOut | None, name: str) -> Calibration:
    if kind == "isotonic" and held_out is not None:
        scores = held_out.log_posterior[name]
        maps = fit_isotonic(scores, held_out.length, held_out.codes, rho, held_out.weight)
        return Calibration("isotonic", rho, maps)
    return Calibration("temperature", rho)


def calibrated(
    calibration: Calibration,
    model: MixtureModel,
    joint: FloatArray,
    log_prior: FloatArray,
    blocks: tuple[Block, ...],
    *,
    log: bool = False,
) -> FloatArray:
    """Calibrated class probabilities of rows from their joint log-densities, or the logarithms of these."""
    log_posterior = finite_log_posterior(joint, log_prior)
    apply = calibration.apply_log if log else calibration.apply
    return apply(log_posterior, row_lengths(model, blocks))
