"""From scores to classes: posteriors, their calibration, and labels, as nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.calibration import Calibration
from softcount.core.crossfit import FLOOR
from softcount.core.mixture import MixtureModel
from softcount.estimators.naive_bayes import ComplementNB
from softcount.families.linear import LinearScorer
from softcount.persist.onnx.densities import Rows, linear_scores, log_densities, read_rows
from softcount.persist.onnx.graph import Graph, Value

__all__ = ["answer_classes", "generative"]


def generative(graph: Graph, estimator: Any) -> None:
    """Labels and probabilities of a generative classifier, or positions and posteriors of a mixture."""
    model, calibration = estimator.model_, getattr(estimator, "calibration_", None)
    _check_calibration(calibration)
    rows = read_rows(graph, estimator)
    log_prior = estimator._log_class_prior()
    if isinstance(estimator, ComplementNB):
        scores = _complement_scores(graph, estimator, rows)
    else:
        scores = log_densities(graph, estimator, rows) + estimator.params_.log_weights
        scores = scores if model.has_single_components else _by_class(graph, model, scores)
    impossible = graph.node("IsInf", scores.max(), detect_positive=0)
    scores = impossible.where(log_prior[None, :], scores)
    probabilities = _softmax(scores)
    if calibration is not None:
        is_count = model.families[0].counts_repetitions
        length = rows.numbers.sum() if is_count else rows.observed.sum()
        probabilities = _cooled(scores, length, calibration)
    classes = getattr(estimator, "classes_", None)
    names = np.arange(model.n_classes) if classes is None else classes
    answer_classes(graph, scores.argmax(), probabilities, rows.refused, names)


def answer_classes(graph: Graph, best: Value, probabilities: Value, refused: Value, names: NDArray[Any]) -> None:
    """The two outputs. A row with a refused cell has no probabilities, and looking up its label is an error."""
    table, element = _label_table(graph, names)
    is_refused = refused.as_numbers().max().is_above(0.0)
    graph.answer(
        "label",
        graph.look_up(table, is_refused.flat().where(np.array(names.shape[0], dtype=np.int64), best)),
        element,
    )
    graph.answer("probabilities", is_refused.where(np.nan, probabilities), graph.types.DOUBLE, names.shape[0])


def _softmax(scores: Value) -> Value:
    power = (scores - scores.max()).exp()
    return power / power.sum()


def _cooled(scores: Value, length: Value, calibration: Calibration) -> Value:
    r"""Log-odds divided by :math:`1 + (n_i - 1)\rho`; an impossible class has a floor instead of minus infinity."""
    shifted = scores - scores.max()
    log_posterior = (shifted - shifted.exp().sum().log()).at_least(FLOOR)
    return _softmax(log_posterior / ((length - 1.0).at_least(0.0) * float(calibration.correlation) + 1.0))


def _by_class(graph: Graph, model: MixtureModel, scores: Value) -> Value:
    """Joint log-density per class from that per component."""
    columns = []
    for k in range(model.n_classes):
        members = np.flatnonzero(model.groups == k).astype(np.int64)
        own = graph.node("Gather", scores, members, axis=1)
        top = own.max()
        safe = graph.node("IsInf", top).where(0.0, top)
        columns.append((own - safe).exp().sum().log() + safe)
    return graph.beside(columns)


def _complement_scores(graph: Graph, estimator: ComplementNB, rows: Rows) -> Value:
    """The rule's scores; a word that only one class has decides alone (with ``alpha=0``)."""
    weights: FloatArray = estimator.feature_log_prob_.T
    decisive = np.isposinf(weights)
    scores = linear_scores(graph, LinearScorer(np.where(decisive, 0.0, weights), None, None), rows)
    if decisive.any():
        hits = rows.numbers @ decisive.astype(np.float64)
        hit = hits.is_above(0.0).as_numbers()
        outvoted = hit.max() - hit
        scores = outvoted.is_above(0.0).where(-np.inf, scores)
    return scores + estimator.class_log_prior_ if estimator.classes_.shape[0] == 1 else scores


def _label_table(graph: Graph, names: NDArray[Any]) -> tuple[Value, int]:
    """The classes' names as a tensor, and the type of its elements."""
    kinds = {
        str: (graph.types.STRING, np.object_),
        bool: (graph.types.BOOL, np.bool_),
        int: (graph.types.INT64, np.int64),
        float: (graph.types.DOUBLE, np.float64),
    }
    listed = names.tolist()
    kind = type(listed[0])
    if kind not in kinds or any(type(name) is not kind for name in listed):
        raise InputError(
            f"The classes are {listed[:10]}; labels of an ONNX graph are texts, or whole numbers, or truth values, all "
            "of one type. Fit to such labels, for example [str(label) for label in y]."
        )
    if kind is int and not all(-(2**63) <= name < 2**63 for name in listed):
        raise InputError(f"The classes are {listed[:10]}; whole numbers in ONNX have 64 bits. Fit to texts instead.")
    element, dtype = kinds[kind]
    return graph.constant(np.array(listed, dtype=dtype)), int(element)


def _check_calibration(calibration: Calibration | None) -> None:
    if calibration is not None and calibration.maps:
        raise InputError(
            "Isotonic calibration is not exported to ONNX. Fit with calibrate='temperature', which is, or with "
            "calibrate='none'."
        )
