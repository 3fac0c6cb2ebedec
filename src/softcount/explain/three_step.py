r"""Classes related to variables outside the model, without the bias of treating assigned classes as the true ones.

Three steps: fit the mixture; assign rows to components; relate the assignments to other variables, allowing for their
errors. With assignments :math:`a_{is}` (the modal component, or the posterior :math:`r_{is}` itself) the chance that a
row of component k is assigned to s is

.. math:: D_{ks} = \frac{\sum_i w_i r_{ik} a_{is}}{\sum_i w_i r_{ik}} .

*BCH* (Bolck, Croon and Hagenaars, 2004) weights row i in component k by :math:`\sum_s a_{is} (D^{-1})_{sk}`, whose
expectation is the true membership. *ML* (Vermunt, 2010) maximizes
:math:`\sum_i w_i \sum_s a_{is} \log \sum_k \pi_k(z_i) D_{ks}` with the assignment as an imperfect measurement.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.first_step import assignment_moves
from softcount.estimators.latent_class.covariates import as_covariates, refuse_dependent
from softcount.explain.class_relations import ClassEffects, ClassOutcomes
from softcount.explain.soft_logit import curvature, fit_logit, is_separated, slopes_by_chances
from softcount.inputs.columns import Column, encode, is_table, learn_categories, read_columns
from softcount.inputs.weights import read_weights

__all__ = ["class_effects", "class_outcomes"]

METHODS = ("bch", "ml", "naive")
ASSIGNMENTS = ("modal", "proportional")
#: Beyond this condition number the components cannot be told apart well enough to correct anything.
WORST_CONDITION = 1e4
#: Directions with less than this share of the largest variance have none, nor have those of less than rounding.
RANK, ROUNDING = 1e-12, 1e-12


def class_outcomes(
    model: Any,
    X: Any,
    outcome: Any,
    *,
    sample_weight: Any = None,
    method: str = "bch",
    assignment: str = "modal",
    survey: bool = False,
    classes: str = "estimated",
) -> ClassOutcomes:
    r"""Means or shares of an outcome (a distal outcome) in the components of a fitted mixture.

    .. math:: \mu_k = \frac{\sum_i w_i b_{ik} y_i}{\sum_i w_i b_{ik}}, \qquad
       b_{ik} = \sum_s a_{is} (D^{-1})_{sk}

    Parameters
    ----------
    model : fitted mixture
        Fitted without the outcome.
    X : table
        Its rows.
    outcome : array-like of shape (n_samples,)
        Numbers, of which the mean is estimated, or values of other kinds, of which the shares are. Missing ones are
        left out.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; a weight of k counts like k copies of the row, in standard errors as well.
    method : {"bch", "naive"}, default="bch"
        Corrected for wrong assignments, or not.
    assignment : {"modal", "proportional"}, default="modal"
        Rows belong to their most probable component, or to each in proportion to its posterior.
    survey : bool, default=False
        Whether the weights stand for rows nobody asked instead of for repeated rows.
    classes : {"estimated", "known"}, default="estimated"
        Whether standard errors allow for the mixture being an estimate from these rows, or take it as known.

    Returns
    -------
    outcomes : ClassOutcomes
        Standard errors are robust.
    """
    if method not in ("bch", "naive"):
        raise InputError(f"method is {method!r}; outcomes are related to components by 'bch' or 'naive'.")
    resp, weight = _memberships(model, X, sample_weight, classes)
    column = _outcome_column(outcome, resp.shape[0])
    assigned, confusion = _assigned(model, resp, weight, assignment)
    inverse = None if method == "naive" else _inverse(model, confusion)
    share = assigned if inverse is None else assigned @ inverse
    used = np.where(column.missing, 0.0, weight)
    if not used.any():
        raise InputError(f"{column.name} is missing in every row, so there is nothing to relate.")
    values: tuple[Any, ...] | None = None
    if column.values.dtype.kind == "O" or column.kind == "boolean":
        values = (False, True) if column.kind == "boolean" else tuple(learn_categories(column))
        codes = column.values if column.kind == "boolean" else encode(column, values)[0]
        cells = (np.where(column.missing, -1, codes)[:, None] == np.arange(len(values))).astype(np.float64)
    else:
        _refuse_infinite(column)
        cells = np.where(column.missing, 0.0, column.values.astype(np.float64))[:, None]
    mass = (used[:, None] * share).sum(axis=0)
    if (mass <= 0.0).any():
        raise InputError("A component has no weight left after the correction; fit fewer components.")
    means = (used[:, None] * share).T @ cells / mass[:, None]
    # (n_rows, n_components, n_values): what each row moves the means by.
    moves = (share / mass)[:, :, None] * (cells[:, None, :] - means)
    moves = moves.reshape(moves.shape[0], -1)
    note = ""
    if inverse is not None and classes == "estimated":
        # b = a D^-1, so a change of D moves b by -b dD D^-1, and the mean of component k towards those of the others.
        apart = mass[None, :, None] * (means[None, :, :] - means[:, None, :]) / mass[:, None, None]
        directions = -np.einsum("klv,sk->kvls", apart, inverse).reshape(-1, *inverse.shape)
        owed, note = _owed_to_the_mixture(model, X, weight, assigned, directions)
        moves = moves * (used > 0.0)[:, None] + owed
    counted = used if inverse is None or classes == "known" else weight
    covariance = (moves * (counted * counted if survey else counted)[:, None]).T @ moves
    errors = np.sqrt(np.diagonal(covariance)).reshape(means.shape)
    free = 1 if values is None else len(values) - 1
    n = means.shape[0]
    contrasts = np.kron(np.eye(n)[1:] - np.eye(n)[0], np.eye(means.shape[1])[:free])
    differences, spread = contrasts @ means.reshape(-1), contrasts @ covariance @ contrasts.T
    statistic, df, p_value = _wald(differences, spread, float(np.abs(means).max()))
    missing = float(weight[column.missing].sum())
    names = model._class_labels()
    return ClassOutcomes(
        column.name, names, values, means, errors, statistic, df, p_value, float(used.sum()), missing, method, note
    )


def class_effects(
    model: Any,
    X: Any,
    covariates: Any,
    *,
    sample_weight: Any = None,
    method: str = "ml",
    assignment: str = "modal",
    survey: bool = False,
    classes: str = "estimated",
) -> ClassEffects:
    r"""Effects of covariates on the components of a fitted mixture, by a multinomial logit.

    .. math:: \pi_k(z_i) = \frac{e^{z_i^\top\gamma_k}}{\sum_l e^{z_i^\top\gamma_l}}, \qquad \gamma_1 = 0

    ``LatentClass(covariates=...)`` estimates the same in one step, where the covariates help to form the classes; here
    the classes stay what they are.

    Parameters
    ----------
    model : fitted mixture
        Fitted without the covariates.
    X : table
        Its rows.
    covariates : table, or array-like of shape (n_samples,) or (n_samples, n_covariates)
        Numbers enter as they are, texts with an indicator for each value but the first; none may be missing.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; a weight of k counts like k copies of the row, in standard errors as well.
    method : {"ml", "bch", "naive"}, default="ml"
        How wrong assignments are allowed for; "naive" does not.
    assignment : {"modal", "proportional"}, default="modal"
        Rows belong to their most probable component, or to each in proportion to its posterior.
    survey : bool, default=False
        Whether the weights stand for rows nobody asked instead of for repeated rows.
    classes : {"estimated", "known"}, default="estimated"
        Whether standard errors allow for the mixture being an estimate from these rows, or take it as known.

    Returns
    -------
    effects : ClassEffects
        Standard errors are robust (a sandwich).
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; choose one of {', '.join(map(repr, METHODS))}.")
    resp, weight = _memberships(model, X, sample_weight, classes)
    columns = _columns_of(covariates, "covariates", resp.shape[0])
    coding = as_covariates(columns)
    design = np.asarray(coding.block(columns).values)
    refuse_dependent(coding, design, weight)
    assigned, confusion = _assigned(model, resp, weight, assignment)
    modal, measured = assigned, confusion if method == "ml" else None
    inverse = None if method == "naive" else _inverse(model, confusion)
    if method == "bch" and inverse is not None:
        assigned = assigned @ inverse
    coef = fit_logit(design, assigned, weight, measured)
    score, information = curvature(design, assigned, weight, measured, coef)
    if is_separated(design, weight, information):
        raise InputError(
            "Some covariate tells components apart without fail, so its coefficient has no finite value. Leave it out, "
            "or group its values."
        )
    moves, note = score @ np.linalg.pinv(information, hermitian=True), ""
    if inverse is not None and classes == "estimated":
        slopes = slopes_by_chances(design, assigned, weight, measured, coef, inverse=inverse)
        flat = np.asarray(np.linalg.lstsq(information, slopes.reshape(slopes.shape[0], -1), rcond=1e-12)[0], np.float64)
        owed, note = _owed_to_the_mixture(model, X, weight, modal, flat.reshape(slopes.shape))
        moves = moves + owed
    covariance = (moves * (weight * weight if survey else weight)[:, None]).T @ moves
    n, p = resp.shape[1], design.shape[1]
    errors = np.zeros((n, p))
    errors[1:] = np.sqrt(np.maximum(np.diagonal(covariance), 0.0)).reshape(n - 1, p)
    tests = []
    for j in range(p):
        own = np.arange(n - 1) * p + j
        tests.append(_wald(coef[j, 1:], covariance[np.ix_(own, own)]))
    names = model._class_labels()
    return ClassEffects(coding.design_names, names, coef.T.copy(), errors, tests, float(weight.sum()), method, note)


# ---- steps one and two
def _memberships(model: Any, X: Any, sample_weight: Any, classes: str) -> tuple[FloatArray, FloatArray]:
    check_is_fitted(model, "params_")
    if classes not in ("estimated", "known"):
        raise InputError(f"classes is {classes!r}; standard errors take them as 'estimated' or as 'known'.")
    resp = model.predict_proba(X)
    if resp.shape[1] < 2:
        raise InputError("The mixture has one component, so there is nothing to tell apart.")
    weight = read_weights(sample_weight, resp.shape[0])
    return resp, np.ones(resp.shape[0]) if weight is None else weight


def _assigned(model: Any, resp: FloatArray, weight: FloatArray, assignment: str) -> tuple[FloatArray, FloatArray]:
    """Assignments of the rows, and the chances of every assignment given the component."""
    if assignment not in ASSIGNMENTS:
        raise InputError(f"assignment is {assignment!r}; choose one of {', '.join(map(repr, ASSIGNMENTS))}.")
    assigned = resp if assignment == "proportional" else np.eye(resp.shape[1])[resp.argmax(axis=1)]
    joint = (resp * weight[:, None]).T @ assigned
    total = joint.sum(axis=1, keepdims=True)
    if (total <= 0.0).any() or (joint.sum(axis=0) <= 0.0).any():
        empty = [model._class_labels()[k] for k in np.flatnonzero((total[:, 0] <= 0.0) | (joint.sum(axis=0) <= 0.0))]
        raise InputError(
            f"No row is assigned to the components {empty}. Use assignment='proportional', or fewer components."
        )
    return assigned, joint / total


def _inverse(model: Any, confusion: FloatArray) -> FloatArray:
    condition = float(np.linalg.cond(confusion))
    if not condition < WORST_CONDITION:
        raise InputError(
            f"The components overlap so much that assignments cannot be corrected (condition number {condition:.2g}). "
            "Use fewer components, or LatentClass(covariates=...), which does it in one step."
        )
    return np.asarray(np.linalg.inv(confusion))


def _owed_to_the_mixture(
    model: Any, X: Any, weight: FloatArray, assigned: FloatArray, directions: FloatArray
) -> tuple[FloatArray, str]:
    """What rows move the estimates by through the mixture's, (n_rows, n_estimates), or nothing and why."""
    rows = model._rows(X).with_weight(weight)
    try:
        moves = assignment_moves(
            model.model_, model.params_, model._executor(), rows, assigned=assigned, directions=directions
        )
    except InputError as error:
        nothing = np.zeros((assigned.shape[0], directions.shape[0]))
        return nothing, f"standard errors take the mixture as known, for it has none of its own: {error}"
    return moves, ""


# ---- reading
def _columns_of(given: Any, name: str, n_rows: int) -> list[Column]:
    if hasattr(given, "to_frame") and getattr(given, "ndim", 2) == 1:
        given = given.to_frame(name if given.name is None else str(given.name))
    if is_table(given):
        columns = read_columns(given)
    else:
        array = np.asarray(given)
        if array.dtype.kind in "US":
            array = np.asarray(given, dtype=object)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2:
            raise InputError(f"{name} has {array.ndim} dimensions; give a column or a table.")
        columns = read_columns(array)
    if not columns or columns[0].values.shape[0] != n_rows:
        found = columns[0].values.shape[0] if columns else 0
        raise InputError(f"{name} has {found} rows, but X has {n_rows}.")
    return columns


def _outcome_column(outcome: Any, n_rows: int) -> Column:
    columns = _columns_of(outcome, "outcome", n_rows)
    if len(columns) != 1:
        raise InputError(f"outcome has {len(columns)} columns; give one variable at a time.")
    column = columns[0]
    return replace(column, name="outcome") if column.name == "x0" else column


def _refuse_infinite(column: Column) -> None:
    infinite = np.isinf(column.values.astype(np.float64))
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise InputError(f"Row {row} of {column.name} is infinite; an outcome is a finite number, or missing.")


def _wald(values: FloatArray, covariance: FloatArray, size: float = 0.0) -> tuple[float, int, float]:
    """Wald's statistic that all values are zero, its degrees of freedom, and the p-value.

    Numbers of size ``size`` have been subtracted from one another, so smaller spreads than rounding leaves are none.
    """
    spread, vectors = np.linalg.eigh(covariance)
    kept = spread > max(RANK * float(spread.max(initial=0.0)), (ROUNDING * size) ** 2)
    df = int(kept.sum())
    statistic = float(np.sum((values @ vectors[:, kept]) ** 2 / spread[kept]))
    return statistic, df, float(chi2.sf(statistic, df)) if df else float("nan")
