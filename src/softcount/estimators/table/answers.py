"""What a classifier says of rows whose labels it did not see, one answer per row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softcount._types import CodesArray, FloatArray, IntArray

__all__ = ["DOUBT", "Answers", "Sureness", "answers_of"]

#: Stated probabilities above which accuracy is looked at.
LEVELS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
#: Probability that a row is not of the class its label says, above which the label looks wrong.
DOUBT = 0.9


@dataclass(frozen=True)
class Sureness:
    """How often the answers that are stated with at least some probability are right.

    Attributes
    ----------
    at_least : float
        The stated probability.
    share : float
        Share of rows whose answer is stated with at least that.
    n_rows : float
        How many rows that is; fractions come from rows held out several times.
    accuracy : float
        Share of these that are right; NaN where there is none.
    """

    at_least: float
    share: float
    n_rows: float
    accuracy: float


@dataclass(frozen=True)
class Answers:
    """The most probable classes of each row, and the probability of its label.

    Attributes
    ----------
    rows : array of shape (n_rows,)
        Which row of the table; every row once, ascending.
    codes : array of shape (n_rows,)
        Labels; -1 where there is none.
    predicted, second : array of shape (n_rows,)
        The most and the second most probable class.
    probability, second_probability, label_probability : array of shape (n_rows,)
        Probabilities of the predicted class, of the second, and of the label (NaN where there is none).
    sureness : tuple of Sureness
        Empty where there are no labels.
    n_expected_suspects : float
        Rows whose labels would be doubted more than :data:`DOUBT` if every label were right and every probability held.
    """

    rows: IntArray
    codes: CodesArray
    predicted: CodesArray
    second: CodesArray
    probability: FloatArray
    second_probability: FloatArray
    label_probability: FloatArray
    sureness: tuple[Sureness, ...] = ()
    n_expected_suspects: float = 0.0

    def __len__(self) -> int:
        return int(self.rows.size)

    def suspects(self, least_doubt: float = DOUBT) -> IntArray:
        """Places of the answers that contradict their labels, the most doubtful label first.

        Parameters
        ----------
        least_doubt : float
            Probability that the row is not of the class its label says, above which it is suspect.
        """
        doubt = 1.0 - self.label_probability
        wrong = np.flatnonzero((self.predicted != self.codes) & (self.codes >= 0) & (doubt > least_doubt))
        return np.asarray(wrong[np.argsort(-doubt[wrong], kind="stable")])

    def least_sure(self) -> IntArray:
        """Places of the answers, the smallest lead of the predicted class over the second first."""
        return np.asarray(np.argsort(self.probability - self.second_probability, kind="stable"))


def answers_of(
    posterior: FloatArray, rows: IntArray, codes: CodesArray | None = None, weight: FloatArray | None = None
) -> Answers:
    """One answer per row; several answers about one row are averaged.

    Parameters
    ----------
    posterior : array of shape (n_answers, n_classes)
    rows : array of shape (n_answers,)
        Which row an answer is about.
    codes : array of shape (n_answers,), optional
        Labels.
    weight : array of shape (n_answers,), optional
        Weight of the rows.
    """
    unique, first, place, count = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    known = np.full(rows.shape[0], -1, dtype=np.int32) if codes is None else codes
    share = (np.ones(rows.shape[0]) if weight is None else weight) / count[place]
    sureness = () if codes is None else _sureness(posterior, known, share)
    if unique.size < rows.size:
        order = np.argsort(rows, kind="stable")
        starts = np.concatenate([[0], np.cumsum(count)[:-1]])
        posterior = np.add.reduceat(posterior[order], starts, axis=0) / count[:, None]
    else:
        posterior = posterior[first]
    codes_by_row = known[first]
    every = np.arange(unique.size)
    predicted = posterior.argmax(axis=1)
    others = posterior.copy()
    others[every, predicted] = -1.0
    second = others.argmax(axis=1) if posterior.shape[1] > 1 else predicted
    return Answers(
        rows=unique.astype(np.int64),
        codes=codes_by_row.astype(np.int32),
        predicted=predicted.astype(np.int32),
        second=second.astype(np.int32),
        probability=posterior[every, predicted],
        second_probability=posterior[every, second] if posterior.shape[1] > 1 else np.zeros(unique.size),
        label_probability=np.where(codes_by_row >= 0, posterior[every, codes_by_row], np.nan),
        sureness=sureness,
        n_expected_suspects=_expected_suspects(posterior, predicted) if sureness else 0.0,
    )


def _expected_suspects(posterior: FloatArray, predicted: CodesArray | IntArray) -> float:
    r"""The sum of :math:`p_{ik}` over rows and the classes, not predicted, with :math:`1-p_{ik}` above DOUBT."""
    doubted = posterior < 1.0 - DOUBT
    doubted[np.arange(posterior.shape[0]), predicted] = False
    return float(posterior[doubted].sum())


def _sureness(posterior: FloatArray, codes: CodesArray, share: FloatArray) -> tuple[Sureness, ...]:
    stated, hit = posterior.max(axis=1), (posterior.argmax(axis=1) == codes).astype(np.float64)
    total = float(share.sum())
    found = []
    for level in LEVELS:
        sure = stated >= level
        n_rows = float(share[sure].sum())
        accuracy = float(share[sure] @ hit[sure]) / n_rows if n_rows > 0.0 else float("nan")
        found.append(Sureness(level, n_rows / total if total > 0.0 else 0.0, n_rows, accuracy))
    return tuple(found)
