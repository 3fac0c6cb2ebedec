r"""Logistic regression row by row: log-likelihood, residual and probabilities, exact in the tails.

For two classes, with :math:`\eta_i = x_i^\top w + b + o_i` and :math:`\sigma(\eta) = 1 / (1 + e^{-\eta})`,

.. math:: \ell_i = y_i \eta_i - \log(1 + e^{\eta_i}), \qquad
          \frac{\partial \ell_i}{\partial \eta_i} = y_i - \sigma(\eta_i)
          = y_i\, \sigma(-\eta_i) - (1 - y_i)\, \sigma(\eta_i) .

For ``K`` classes, with :math:`p_{ik} = e^{\eta_{ik}} / \sum_l e^{\eta_{il}}`,

.. math:: \ell_i = \sum_k y_{ik} \eta_{ik} - \log \sum_l e^{\eta_{il}}, \qquad
          \frac{\partial \ell_i}{\partial \eta_{ik}} = y_{ik} - p_{ik} .

No probability is ever subtracted from 1: :math:`\sigma(-700)` keeps all its digits, and so do the residual and the
log-likelihood of a row that the model is nearly certain of. Arrays are class-major, ``(n_classes, n_rows)``, which
makes sums over a handful of classes a few vector additions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softcount._types import CodesArray, FloatArray

__all__ = ["RowValues", "binary_probability", "binary_rows", "labeled_rows", "softmax", "softmax_rows"]

# A sum of exponentials this close to its largest term, 1, is added up again without that term.
NEARLY_CERTAIN = 1e-4


class RowValues(NamedTuple):
    """What a pass needs of some rows.

    Attributes
    ----------
    log_likelihood : float
        Weighted sum over the rows.
    residual : array of shape (n_outputs, n_rows)
        Derivative by the linear predictor, times the weight.
    probability : array of shape (n_outputs, n_rows)
        Probability of the class that belongs to each output; with two classes, of the less probable one: what
        matters is ``p (1 - p)``, and that way it keeps its digits.
    """

    log_likelihood: float
    residual: FloatArray
    probability: FloatArray


def binary_probability(predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The probabilities of the second and of the first class, both to full relative precision.

    Examples
    --------
    >>> import numpy as np
    >>> second, first = binary_probability(np.array([0.0, 700.0]))
    >>> first
    array([5.00000000e-001, 9.85967654e-305])
    """
    small = np.exp(-np.abs(predictor))
    large = 1.0 / (1.0 + small)
    small *= large
    positive = predictor >= 0.0
    return np.where(positive, large, small), np.where(positive, small, large)


def binary_rows(predictor: FloatArray, target: FloatArray, weight: FloatArray | None) -> RowValues:
    """Log-likelihood, residual and probability.

    Parameters
    ----------
    predictor : array of shape (1, n_rows)
        ``eta``.
    target : array of shape (n_rows,)
        Probability of the second class that the label states, between 0 and 1.
    weight : array of shape (n_rows,) or None
        Row weights.
    """
    second, first = binary_probability(predictor[0])
    terms = target * predictor[0]
    terms -= np.maximum(predictor[0], 0.0)
    terms -= np.log1p(np.exp(-np.abs(predictor[0])))
    residual = target * first - (1.0 - target) * second
    return _weighted(terms, residual, np.minimum(first, second), weight)


def labeled_rows(predictor: FloatArray, sign: FloatArray, weight: FloatArray | None) -> RowValues:
    """The same for labels without doubt, which take less work.

    With the margin ``m = sign * eta`` the log-likelihood is ``-log(1 + exp(-m))``.

    Parameters
    ----------
    predictor : array of shape (1, n_rows)
        ``eta``.
    sign : array of shape (n_rows,)
        1 for the second class, -1 for the first.
    weight : array of shape (n_rows,) or None
        Row weights.
    """
    margin = sign * predictor[0]
    small = np.abs(margin)
    np.negative(small, out=small)
    np.exp(small, out=small)
    terms = np.minimum(margin, 0.0)
    terms -= np.log1p(small)
    less = small / (1.0 + small)
    residual = np.where(margin >= 0.0, less, 1.0 - less)
    residual *= sign
    return _weighted(terms, residual, less, weight)


def _weighted(terms: FloatArray, residual: FloatArray, less: FloatArray, weight: FloatArray | None) -> RowValues:
    if weight is None:
        return RowValues(float(terms.sum()), residual[None], less[None])
    return RowValues(float(weight @ terms), (weight * residual)[None], less[None])


def softmax(predictor: FloatArray) -> FloatArray:
    """Probabilities of the classes, shape ``(n_classes, n_rows)``.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([[0.0, 1000.0], [0.0, 0.0]]))
    array([[0.5, 1. ],
           [0.5, 0. ]])
    """
    powers = np.exp(predictor - predictor.max(axis=0))
    return np.asarray(powers / powers.sum(axis=0))


def softmax_rows(predictor: FloatArray, target: CodesArray | FloatArray, weight: FloatArray | None) -> RowValues:
    """Log-likelihood, residual and probability of every class.

    Parameters
    ----------
    predictor : array of shape (n_classes, n_rows)
        ``eta``; overwritten.
    target : codes of shape (n_rows,) or probabilities of shape (n_rows, n_classes)
        Labels.
    weight : array of shape (n_rows,) or None
        Row weights.
    """
    predictor -= predictor.max(axis=0)
    is_hard = target.ndim == 1
    rows = np.arange(predictor.shape[1])
    own = predictor[target, rows] if is_hard else np.einsum("ki,ik->i", predictor, target)
    powers = np.exp(predictor, out=predictor)
    own_power = powers[target, rows] if is_hard else None
    rest = _sum_without_largest(powers)
    total = 1.0 + rest
    terms = own - np.log1p(rest)
    powers /= total
    residual = np.negative(powers)
    if own_power is not None:
        # 1 - p of the row's own class: what is left of the sum when that class is taken out.
        residual[target, rows] = np.where(own_power == 1.0, rest, total - own_power) / total
    else:
        residual += target.T
    if weight is None:
        return RowValues(float(terms.sum()), residual, powers)
    residual *= weight
    return RowValues(float(weight @ terms), residual, powers)


def _sum_without_largest(powers: FloatArray) -> FloatArray:
    """Column sums of ``powers`` less the largest entry of each column, which is 1."""
    rest: FloatArray = powers.sum(axis=0) - 1.0
    certain = np.flatnonzero(rest < NEARLY_CERTAIN)
    if certain.size:
        rest[certain] = np.sort(powers[:, certain], axis=0)[:-1].sum(axis=0)
    return rest
