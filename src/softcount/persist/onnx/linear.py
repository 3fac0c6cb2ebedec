"""Linear models as nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.glm.links import LARGEST_LOG, SMALLEST_LOG, CLogLog, Identity, Inverse, Log, Logit, LogLog, Power
from softcount.persist.onnx.classes import answer_classes
from softcount.persist.onnx.graph import Graph, Value

__all__ = ["bayesian_linear", "glm", "logistic"]


def logistic(graph: Graph, estimator: Any) -> None:
    """Labels and probabilities of a logistic regression."""
    stored = estimator.coef_
    coef: FloatArray = stored.toarray() if hasattr(stored, "toarray") else stored
    scores = graph.X @ np.ascontiguousarray(coef.T) + estimator.intercept_
    if estimator.classes_.size == 2:
        second, first = _both(scores)
        best, probabilities = scores.is_above(0.0).as_positions().flat(), graph.beside([first, second])
    else:
        power = (scores - scores.max()).exp()
        best, probabilities = scores.argmax(), power / power.sum()
    answer_classes(graph, best, probabilities, _refused(graph), estimator.classes_)


def glm(graph: Graph, estimator: Any) -> None:
    """Means of a generalized linear model."""
    if estimator._formula is not None:
        raise InputError(
            "A GLM fitted by a formula is not exported to ONNX: the graph takes a table of numbers, and would not make "
            "the formula's columns. Make the columns yourself and fit to them: GLM(...).fit(X, y)."
        )
    inverse = _INVERSES.get(type(estimator.link_))
    if inverse is None:
        raise InputError(
            f"The link {estimator.link_.name!r} is not exported to ONNX: onnxruntime has no such function for doubles. "
            f"Exported are {', '.join(sorted(kind().name for kind in _INVERSES if kind is not Power))} and powers."
        )
    _predict(graph, inverse(graph, _predictor(graph, estimator), estimator.link_))


def bayesian_linear(graph: Graph, estimator: Any) -> None:
    """Posterior means of a Bayesian linear regression."""
    _predict(graph, _predictor(graph, estimator))


def _predictor(graph: Graph, estimator: Any) -> Value:
    coef: FloatArray = estimator.coef_[:, None]
    return graph.X @ coef + float(estimator.intercept_)


def _predict(graph: Graph, mean: Value) -> None:
    """The output; a row with a refused cell has none."""
    is_refused = _refused(graph).as_numbers().max().is_above(0.0)
    graph.answer("prediction", is_refused.where(np.nan, mean).flat(), graph.types.DOUBLE)


def _refused(graph: Graph) -> Value:
    """Linear models need every cell."""
    return graph.node("IsNaN", graph.X) | graph.node("IsInf", graph.X)


# ---- inverse links, each as in softcount.core.glm.links
def _both(predictor: Value) -> tuple[Value, Value]:
    """The logistic function and one minus it, both to full relative precision."""
    small = (-predictor.abs()).exp()
    large = predictor.graph.node("Reciprocal", small + 1.0)
    small, positive = small * large, predictor.reaches(0.0)
    return positive.where(large, small), positive.where(small, large)


def _bounded_exp(predictor: Value) -> Value:
    return predictor.at_least(SMALLEST_LOG).at_most(LARGEST_LOG).exp()


def _one_minus_exp(hazard: Value) -> Value:
    r""":math:`1 - e^{-t}` without the loss of digits for small t.

    It is :math:`(1 - u) t / (-\log u)` with :math:`u = e^{-t}`, in which the rounding errors of u cancel (Kahan).
    """
    power = (-hazard).exp()
    rest = -(power - 1.0)
    is_nothing, is_all = ~rest.is_above(0.0), ~power.is_above(0.0)
    # Where u is one or zero the quotient is 0 / 0 or divided by infinity: it is not used there.
    safe = (is_nothing | is_all).where(0.5, power)
    return is_nothing.where(hazard, is_all.where(1.0, rest * hazard / (-safe.log())))


def _power(graph: Graph, predictor: Value, link: Power) -> Value:
    return predictor.at_least(1e-300) ** (1.0 / link.exponent)


_INVERSES: dict[Any, Callable[[Graph, Value, Any], Value]] = {
    Identity: lambda graph, predictor, link: predictor,
    Inverse: lambda graph, predictor, link: graph.node("Reciprocal", predictor),
    Log: lambda graph, predictor, link: _bounded_exp(predictor),
    Logit: lambda graph, predictor, link: _both(predictor)[0],
    CLogLog: lambda graph, predictor, link: _one_minus_exp(_bounded_exp(predictor)),
    LogLog: lambda graph, predictor, link: (-_bounded_exp(-predictor)).exp(),
    Power: _power,
}
