"""How a classifier uses rows without a label when it may decide, and how its probabilities are calibrated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.calibration import Calibration, fit_isotonic
from softcount.core.chunks import Chunks
from softcount.core.crossfit import finite_log_posterior, fit_cooling
from softcount.core.execute import Executor
from softcount.core.learn import Learned, Plan, learn
from softcount.core.mixture import MixtureModel
from softcount.core.unlabeled import GIVEN, HeldOut, can_choose, choose, held_out_as_given, row_lengths
from softcount.core.verdict import Verdict
from softcount.families.blocks import Block

__all__ = ["AUTO", "CALIBRATIONS", "Outcome", "check_choices", "fit_with_choice"]

AUTO = "auto"
CALIBRATIONS = ("auto", "none", "temperature", "isotonic")


class Outcome:
    """A fit, how it used the unlabeled rows, and how to calibrate it."""

    def __init__(
        self, learned: Learned, use: str, weight: float, verdict: Verdict | None, calibration: Calibration | None
    ) -> None:
        self.learned = learned
        self.use = use
        self.weight = weight
        self.verdict = verdict
        self.calibration = calibration


def check_choices(unlabeled_weight: Any, calibrate: str) -> None:
    """Refuse what ``unlabeled_weight`` and ``calibrate`` cannot be."""
    if isinstance(unlabeled_weight, str):
        if unlabeled_weight != AUTO:
            raise InputError(f"unlabeled_weight is {unlabeled_weight!r}; use 'auto' or a number of 0 or more.")
    elif not unlabeled_weight >= 0.0:
        raise InputError(f"unlabeled_weight is {unlabeled_weight}; use 'auto' or a weight of 0 or more.")
    if calibrate not in CALIBRATIONS:
        raise InputError(f"calibrate is {calibrate!r}; choose one of {', '.join(map(repr, CALIBRATIONS))}.")


def fit_with_choice(
    model: MixtureModel, executor: Executor, chunks: Chunks, plan: Plan, *, is_auto: bool, calibrate: str
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
    """
    if is_auto and can_choose(model, chunks):
        choice = choose(model, executor, chunks, plan)
        calibration = None
        if calibrate != "none":
            calibration = _calibration(calibrate, choice.cooling, choice.held_out, choice.use)
        weight = 0.0 if choice.use == "none" else 1.0
        return Outcome(choice.learned, choice.use, weight, choice.verdict, calibration)
    learned = learn(model, executor, chunks, plan)
    calibration = None
    if calibrate in ("temperature", "isotonic"):
        quiet = replace(plan, on_step=None)
        held_out = held_out_as_given(model, executor, chunks, quiet, learned.fit.n_iter)
        if held_out.codes.size == 0:
            raise InputError(
                f"calibrate={calibrate!r} needs labeled rows to hold out, at least 2 in some class; there are none. "
                "Use calibrate='none'."
            )
        rho = fit_cooling(held_out.log_posterior[GIVEN], held_out.length, held_out.codes)
        calibration = _calibration(calibrate, rho, held_out, GIVEN)
    return Outcome(learned, "full", model.unlabeled_weight, None, calibration)


def _calibration(kind: str, rho: float, held_out: HeldOut, name: str) -> Calibration:
    if kind == "isotonic" and held_out.codes.size:
        maps = fit_isotonic(held_out.log_posterior[name], held_out.length, held_out.codes, rho)
        return Calibration("isotonic", rho, maps)
    return Calibration("temperature", rho)


def calibrated(
    calibration: Calibration, model: MixtureModel, joint: FloatArray, log_prior: FloatArray, blocks: tuple[Block, ...]
) -> FloatArray:
    """Calibrated class probabilities of rows from their joint log-densities."""
    return calibration.apply(np.asarray(finite_log_posterior(joint, log_prior)), row_lengths(model, blocks))
