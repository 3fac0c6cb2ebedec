"""Logistic regression on rows that are not in memory: labels counted first, then read as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.logistic.distant import DistantLogisticData
from softcount.core.normal_equations import GramTally
from softcount.estimators.distant.linear import TargetReader, look_at
from softcount.estimators.logistic.inputs import Strength
from softcount.estimators.logistic.targets import read_targets, with_class_weight, without_empty_classes
from softcount.inputs.label_matrix import is_label_matrix
from softcount.inputs.label_survey import LabelSurvey, distinct_entries, entry_key

__all__ = ["distant_data"]


@dataclass(frozen=True)
class _Codes(TargetReader):
    """Labels as codes of classes, which are known once all labels have been looked at.

    Attributes
    ----------
    codes : dict or None
        The class of every entry.
    """

    codes: dict[Any, int] | None = None

    def look(self, y: Any, n_rows: int, weight: FloatArray | None) -> LabelSurvey:
        """Which labels there are, and of which weight."""
        if is_label_matrix(y):
            raise InputError(
                "Rows of class probabilities are learned from in memory alone; give each row one label, or several "
                "rows with weights."
            )
        found = LabelSurvey.of(y, weight)
        n_labels = int(sum(counts[0] for counts in found.totals.values()))
        if n_labels != n_rows:
            raise InputError(f"X has {n_rows} rows, but y has {n_labels} labels.")
        return found

    def numbers(self, y: Any, n_rows: int, weight: FloatArray | None) -> FloatArray:
        """The code of every row's class."""
        assert self.codes is not None  # asked for after the look
        entries, place = distinct_entries(y)
        known = np.array([self.codes[entry_key(entry)] for entry in entries.tolist()], dtype=np.float64)
        return known[place]


def distant_data(
    estimator: Any, X: Any, y: Any, weight: Any, strength: Strength, *, always_center: bool
) -> tuple[DistantLogisticData, NDArray[Any], FloatArray | None]:
    """The rows of a fit, the classes, and what the columns were divided by.

    Parameters
    ----------
    estimator : LogisticRegression
    X, y, weight
        What the user gave.
    strength : Strength
    always_center : bool
        Whether columns are shifted even where it does not pay.
    """
    if estimator.from_generative is not None:
        raise InputError(
            "from_generative= fills in missing labels of rows in memory; leave rows without a label out of the files."
        )
    seen = look_at(
        estimator,
        X,
        y,
        weight,
        _Codes(),
        fit_intercept=bool(estimator.fit_intercept),
        always_center=always_center,
    )
    # Every different label once, with the weight of all its rows: to what classes come to they are the rows.
    entries, totals = seen.survey.target.small()
    before = np.ascontiguousarray(totals[:, 2])
    targets = read_targets(
        entries,
        None,
        None,
        n_rows=entries.shape[0],
        classes=estimator.classes,
        missing_label=estimator.missing_label,
    )
    were_named = estimator.classes is not None
    targets = without_empty_classes(targets, before, were_named=were_named)
    n_before = targets.classes.size
    targets, after = with_class_weight(targets, before, estimator.class_weight)
    assert after is not None  # weights were given
    targets = without_empty_classes(targets, after, were_named=were_named)
    if targets.classes.size < n_before:
        raise InputError("class_weight gives a class the weight 0; leave its rows out of the files instead.")
    factors = None
    if estimator.class_weight is not None:
        ratio = np.divide(after, before, out=np.zeros_like(after), where=before > 0.0)
        factors = np.zeros(targets.classes.size)
        np.maximum.at(factors, targets.values, ratio)
    codes = dict(zip(seen.survey.target.entries, targets.values.tolist(), strict=True))
    reference = not strength.chooses
    n_outputs = 1 if targets.classes.size == 2 else targets.classes.size - int(reference)
    size = GramTally.nbytes((seen.form.n_features + 1) * n_outputs)
    data = DistantLogisticData.of(
        seen.make(_Codes(codes), n_outputs, size),
        seen.form,
        targets.class_weights(after),
        factors=factors,
        reference=reference,
        careful=seen.careful,
    )
    return data, targets.classes, seen.scale
