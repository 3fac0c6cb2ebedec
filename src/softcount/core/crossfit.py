"""Cross-fitted posteriors of labeled rows, and what they say: Brier score, log-loss, hits, and a temperature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from softcount._types import BoolArray, CodesArray, FloatArray, IntArray

__all__ = ["HeldOut", "brier", "cool", "cool_log", "finite_log_posterior", "fit_cooling", "folds", "hits", "log_loss"]

#: Candidate correlations of the evidence of one row, from none to all of it the same.
COOLING = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 25)])
#: The least log-posterior of a class, so that impossible classes can be cooled like others.
FLOOR = -1e6
#: Numbers that are worked on together.
NUMBERS_AT_ONCE = 2**17


@dataclass(frozen=True)
class HeldOut:
    """Cross-fitted log-posteriors of labeled rows, candidate by candidate.

    Attributes
    ----------
    rows : array of shape (n_held,)
        Positions among the labeled rows, once per repeat.
    codes, length, weight : array of shape (n_held,)
        Classes, sizes (words, or observed cells) and weights of the rows.
    log_posterior : dict of candidate -> array of shape (n_held, n_classes)
        From a fit that the row's own label had no part in.
    """

    rows: IntArray
    codes: CodesArray
    length: FloatArray
    weight: FloatArray
    log_posterior: dict[str, FloatArray]
    #: What cools each candidate, once it has been asked for.
    _cooling: dict[str, float] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __len__(self) -> int:
        return int(self.rows.size)

    def by_row(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means of ``values`` over the repeats of each row, and the rows' weights."""
        first, place, count = self._repeats
        return np.asarray(np.bincount(place, values) / count), self.weight[first]

    @cached_property
    def _repeats(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where each row is held out first, which row is held out at each place, and how often each row is."""
        found = np.unique(self.rows, return_index=True, return_inverse=True, return_counts=True)
        return found[1], found[2], found[3]

    def cooling(self, candidate: str) -> float:
        """The correlation that makes a candidate's posteriors best."""
        if candidate not in self._cooling:
            scores = self.log_posterior[candidate]
            self._cooling[candidate] = fit_cooling(scores, self.length, self.codes, self.weight)
        return self._cooling[candidate]

    def cooled(self, candidate: str, correlation: float) -> FloatArray:
        """A candidate's posteriors, cooled."""
        return cool(self.log_posterior[candidate], self.length, correlation)


def folds(codes: CodesArray, n_folds: int, n_repeats: int, rng: np.random.Generator) -> Iterator[list[IntArray]]:
    """Held-out rows of every fold, repeat by repeat; each class is dealt round-robin after a shuffle.

    Rows with code -1 are never held out, nor is a class with a single row: without it there would be nothing to know
    the class by. A class with fewer rows than folds is spread over as many folds as it has rows.
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
        yield [np.array(sorted(rows), dtype=np.int64) for rows in held if rows]


def cool_log(log_posterior: FloatArray, length: FloatArray, correlation: float) -> FloatArray:
    r"""Log-posteriors of rows whose log-odds are divided by :math:`1 + (n_i - 1)\rho`, normalized."""
    scaled = log_posterior / (1.0 + np.maximum(length - 1.0, 0.0) * correlation)[:, None]
    scaled -= scaled.max(axis=1, keepdims=True)
    return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True)))


def cool(log_posterior: FloatArray, length: FloatArray, correlation: float) -> FloatArray:
    r"""Posteriors of rows whose log-odds are divided by :math:`1 + (n_i - 1)\rho`."""
    scaled = log_posterior / (1.0 + np.maximum(length - 1.0, 0.0) * correlation)[:, None]
    scaled -= scaled.max(axis=1, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= scaled.sum(axis=1, keepdims=True)
    return np.asarray(scaled)


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
    # All correlations together, a few rows at a time: with few rows most of the time would go into single calls.
    weight = np.ones(codes.size) if weight is None else weight
    total = np.zeros(COOLING.size)
    step = max(1, NUMBERS_AT_ONCE // (COOLING.size * log_posterior.shape[1]))
    for start in range(0, codes.size, step):
        rows = slice(start, start + step)
        divisor = 1.0 + np.maximum(length[rows] - 1.0, 0.0) * COOLING[:, None]
        scaled = log_posterior[rows] / divisor[:, :, None]
        scaled -= scaled.max(axis=2, keepdims=True)
        np.exp(scaled, out=scaled)
        scaled /= scaled.sum(axis=2, keepdims=True)
        scaled[:, np.arange(codes[rows].size), codes[rows]] -= 1.0
        total += np.einsum("cnk,cnk,n->c", scaled, scaled, weight[rows])
    return float(COOLING[int(np.argmin(total))])


def finite_log_posterior(joint: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Joint log-densities normalized by row; impossible rows get the class prior, impossible classes a floor."""
    impossible: BoolArray = np.isneginf(joint.max(axis=1))
    joint = np.where(impossible[:, None], log_prior, joint)
    shifted = joint - joint.max(axis=1, keepdims=True)
    log_posterior = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(np.maximum(log_posterior, FLOOR))
