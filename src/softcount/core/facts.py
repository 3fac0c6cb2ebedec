"""What a fit has to know about all rows before it starts; the facts of parts add up to those of the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.inputs.labels import Labels

__all__ = ["Facts"]


@dataclass(frozen=True)
class Facts:
    """Counts of rows by what is known about them.

    Attributes
    ----------
    n_rows : int
    total_weight : float
    n_open : int
        Rows whose class is not settled, of any weight.
    n_unlabeled : int
        Rows of weight above zero about whose class nothing is known.
    labeled : array of shape (n_classes,) or None
        Rows of weight above zero and of one known class, by class; None where there are no labels at all.
    support : array of shape (n_classes,) or None
        Weight of the rows that speak for each class.
    fixed : bool
        Whether rows of probabilities are responsibilities.
    n_partly : int
        Rows, of any weight, whose labels are sets or probabilities.

    Examples
    --------
    >>> from softcount.inputs.labels import read_labels
    >>> labels, _ = read_labels(["a", None, "b", "a"], 4)
    >>> facts = Facts.of(4, labels, None)
    >>> (facts + facts).labeled.tolist(), facts.n_unlabeled
    ([4, 2], 1)
    """

    n_rows: int
    total_weight: float
    n_open: int
    n_unlabeled: int
    labeled: IntArray | None = None
    support: FloatArray | None = None
    fixed: bool = False
    n_partly: int = 0

    @classmethod
    def of(cls, n_rows: int, labels: Labels | None, weight: FloatArray | None) -> Facts:
        """Facts of some rows."""
        total = float(n_rows if weight is None else weight.sum())
        used = slice(None) if weight is None else weight > 0.0
        if labels is None:
            n_used = n_rows if weight is None else int(np.count_nonzero(weight > 0.0))
            return cls(n_rows, total, n_rows, n_used)
        unlabeled = labels.is_unlabeled()
        unsettled = unlabeled if labels.fixed else labels.codes < 0
        used_labels = labels if weight is None else labels.take(np.flatnonzero(weight > 0.0))
        return cls(
            n_rows,
            total,
            int(np.count_nonzero(unsettled)),
            int(np.count_nonzero(unlabeled[used])),
            used_labels.class_totals(),
            labels.class_support(weight),
            labels.fixed,
            0 if labels.factor_row is None else int(np.count_nonzero(labels.factor_row >= 0)),
        )

    def __add__(self, other: Facts) -> Facts:
        return Facts(
            self.n_rows + other.n_rows,
            self.total_weight + other.total_weight,
            self.n_open + other.n_open,
            self.n_unlabeled + other.n_unlabeled,
            None if self.labeled is None or other.labeled is None else self.labeled + other.labeled,
            None if self.support is None or other.support is None else self.support + other.support,
            self.fixed or other.fixed,
            self.n_partly + other.n_partly,
        )
