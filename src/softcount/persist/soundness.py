"""Whether the parts of a loaded estimator fit together, so that a damaged file fails on loading and not later."""

from __future__ import annotations

from typing import Any

import numpy as np

from softcount._errors import InputError

__all__ = ["check_sound"]


def check_sound(estimator: Any) -> Any:
    """The estimator, if its parameters have the shapes its model asks for.

    Parameters
    ----------
    estimator : estimator
        As put together from a file.
    """
    model: Any = getattr(estimator, "model_", None)
    params: Any = getattr(estimator, "params_", None)
    if model is None and params is None:
        return estimator
    n_components = int(model.groups.shape[0])
    _demand(model.groups.ndim == 1 and model.groups.dtype.kind in "iu", "the groups of its components")
    _demand(n_components > 0 and 0 < model.n_classes <= n_components, "its number of classes")
    _demand(int(model.groups.min()) >= 0 and int(model.groups.max()) < model.n_classes, "the groups of its components")
    _demand(np.asarray(params.log_weights).shape == (n_components,), "the weights of its components")
    _demand(len(model.families) == len(params.blocks) == len(model.priors), "its number of blocks")
    for block in params.blocks:
        for name, values in block.items():
            _demand(values.dtype.kind in "biuf", f"its parameters {name!r}")
            # Shared parameters, as of one covariance for all classes, have no axis of components.
            _demand(not np.isnan(values).any(), f"its parameters {name!r}, which hold NaN")
    _check_published(estimator, model.n_classes)
    return estimator


def _check_published(estimator: Any, n_classes: int) -> None:
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        _demand(isinstance(classes, np.ndarray) and classes.shape == (n_classes,), "its classes")
    treatment = getattr(estimator, "treatment_", None)
    if treatment is not None:
        n_texts = sum(role.role == "text" for role in treatment.roles)
        _demand(len(treatment.counters) == n_texts, "its texts")
        _demand(len(treatment.plan.columns) == len(treatment.table_roles), "its columns")
        widths = [len(treatment.feature_names())]
        _demand(widths[0] > 0, "its columns")


def _demand(condition: Any, what: str) -> None:
    if not condition:
        raise InputError(f"The model file is not sound: {what} do not fit the rest of the model.")
