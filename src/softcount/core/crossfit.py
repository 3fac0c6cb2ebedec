"""Cross-fitted posteriors of labeled rows, and what they say: Brier score, log-loss, hits, and a temperature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from softcount._types import BoolArray, CodesArray, FloatArray, IntArray

__all__ = ["brier", "cool", "fit_cooling", "folds", "hits", "log_loss"]

#: Candidate correlations of the evidence of one row, from none to all of it the same.
COOLING = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 25)])


def folds(codes: CodesArray, n_folds: int, n_repeats: int, rng: np.random.Generator) -> Iterator[list[IntArray]]:
    """Held-out rows of every fold, repeat by repeat; each class is dealt round-robin after a shuffle.

    A class with a single row is never held out: without it there would be nothing to know the class by.
    """
    for _ in range(n_repeats):
        held: list[list[int]] = [[] for _ in range(n_folds)]
        turn = 0
        for k in np.unique(codes[codes >= 0]):
            rows = rng.permutation(np.flatnonzero(codes == k))
            if rows.size < 2:
                continue
            for row in rows:
                held[turn % n_folds].append(int(row))
                turn += 1
        yield [_not_whole_class(np.array(sorted(rows), dtype=np.int64), codes) for rows in held if rows]


def _not_whole_class(rows: IntArray, codes: CodesArray) -> IntArray:
    """The rows without those of classes that would be left with none to learn from."""
    kept = np.ones(rows.shape, dtype=bool)
    for k in np.unique(codes[rows]):
        own = codes[rows] == k
        if own.sum() == (codes == k).sum():
            kept[np.flatnonzero(own)[0]] = False
    return rows[kept]


def cool(log_posterior: FloatArray, length: FloatArray, correlation: float) -> FloatArray:
    r"""Posteriors of rows whose log-odds are divided by :math:`1 + (n_i - 1)\rho`."""
    scaled = log_posterior / (1.0 + np.maximum(length - 1.0, 0.0) * correlation)[:, None]
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    np.exp(scaled, out=scaled)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def brier(posterior: FloatArray, codes: CodesArray) -> FloatArray:
    """Squared distance of each row's posterior from its label."""
    target = np.zeros_like(posterior)
    target[np.arange(codes.shape[0]), codes] = 1.0
    return np.asarray(((posterior - target) ** 2).sum(axis=1))


def log_loss(posterior: FloatArray, codes: CodesArray) -> FloatArray:
    """Negative log-probability of each row's label, at most that of one in 1e15."""
    return np.asarray(-np.log(np.maximum(posterior[np.arange(codes.shape[0]), codes], 1e-15)))


def hits(log_posterior: FloatArray, codes: CodesArray) -> FloatArray:
    """One where the most probable class is the label."""
    return np.asarray(log_posterior.argmax(axis=1) == codes, dtype=np.float64)


def fit_cooling(
    log_posterior: FloatArray, length: FloatArray, codes: CodesArray, weight: FloatArray | None = None
) -> float:
    """The correlation whose cooled posteriors have the best mean Brier score."""
    if codes.size == 0:
        return 0.0
    scores = [np.average(brier(cool(log_posterior, length, c), codes), weights=weight) for c in COOLING]
    return float(COOLING[int(np.argmin(scores))])


def finite_log_posterior(joint: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Joint log-densities normalized by row; impossible rows get the class prior, impossible classes a floor."""
    impossible: BoolArray = np.isneginf(joint.max(axis=1))
    joint = np.where(impossible[:, None], log_prior, joint)
    shifted = joint - joint.max(axis=1, keepdims=True)
    log_posterior = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(np.maximum(log_posterior, -1e6))
