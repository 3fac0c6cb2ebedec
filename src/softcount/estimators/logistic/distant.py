"""Logistic regression on rows that are not in memory: labels looked at first, then read as codes or probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray, IntArray
from softcount.core.linear_chunks import RowColumns
from softcount.core.logistic.distant import DistantLogisticData
from softcount.core.normal_equations import GramTally
from softcount.estimators.distant.face import AnswersInBatches
from softcount.estimators.distant.linear import DistantTable, TargetReader, look_at
from softcount.estimators.distant.training import weights_of
from softcount.estimators.logistic.inputs import Strength, read_offsets
from softcount.estimators.logistic.targets import (
    Targets,
    fitted_generative,
    read_targets,
    with_class_weight,
    without_empty_classes,
)
from softcount.inputs.batches import Batch, is_arrow
from softcount.inputs.label_matrix import is_label_matrix
from softcount.inputs.label_survey import LabelSurvey, distinct_entries, entry_key
from softcount.inputs.labels import read_labels

__all__ = ["distant_data"]


@dataclass(frozen=True)
class _TargetSurvey:
    """A first look at the labels of some rows.

    Attributes
    ----------
    labels : LabelSurvey or None
        Which labels there are, and of which weight; None where they are rows of probabilities.
    classes : array or None
        Of rows of probabilities, those of a model that fills in labels among them.
    totals : array of shape (n_classes,) or None
        Weight of these classes.
    has_offset : bool
    """

    labels: LabelSurvey | None
    classes: NDArray[Any] | None
    totals: FloatArray | None
    has_offset: bool

    def __add__(self, other: _TargetSurvey) -> _TargetSurvey:
        if (self.labels is None, self.classes is None) != (other.labels is None, other.classes is None):
            raise InputError("Some batches come with one label per row, and others with a row of probabilities.")
        if self.has_offset is not other.has_offset:
            raise InputError("Some batches come with an offset, and others without.")
        if self.classes is not None and not np.array_equal(self.classes, np.asarray(other.classes)):
            raise InputError("The batches' rows of probabilities are of different classes.")
        labels = None if self.labels is None or other.labels is None else self.labels + other.labels
        totals = None if self.totals is None or other.totals is None else self.totals + other.totals
        return replace(self, labels=labels, totals=totals)


@dataclass(frozen=True)
class _Labels(TargetReader):
    """Labels as codes of classes or as rows of probabilities, and offsets.

    Attributes
    ----------
    classes : array or None
        All classes in order, where they are known before any row.
    missing_label : scalar
    generative : estimator or None
        A fitted classifier, which fills in labels.
    """

    classes: Any
    missing_label: Any
    generative: Any

    def look(self, batch: Batch, n_rows: int, weight: FloatArray | None) -> _TargetSurvey:
        """Which labels there are, and of which weight."""
        has_offset = batch.beside.get("offset") is not None
        labels = None if is_label_matrix(batch.y) else LabelSurvey.of(batch.y, weight)
        if labels is not None:
            n_labels = int(sum(counts[0] for counts in labels.totals.values()))
            if n_labels != n_rows:
                raise InputError(f"X has {n_rows} rows, but y has {n_labels} labels.")
            if self.generative is None:
                return _TargetSurvey(labels, None, None, has_offset)
        classes, shares = self.shares(batch, n_rows)
        return _TargetSurvey(labels, classes, shares.sum(axis=0) if weight is None else weight @ shares, has_offset)

    def shares(self, batch: Batch, n_rows: int) -> tuple[NDArray[Any], FloatArray]:
        """The classes, and a row of probabilities for every row."""
        X, y = batch.X, batch.y
        if not is_label_matrix(y):
            entries, place = distinct_entries(y)
            y = entries[place]
        if is_arrow(X) and not isinstance(self.generative, AnswersInBatches):
            X = X.to_pandas()
        found = read_targets(
            y,
            X,
            None,
            n_rows=n_rows,
            classes=self.classes,
            missing_label=self.missing_label,
            from_generative=self.generative,
        )
        values = found.values if found.is_soft else np.eye(found.classes.size)[found.values]
        return found.classes, values

    def read(self, batch: Batch, n_rows: int) -> tuple[FloatArray, FloatArray | None]:
        """Nothing: what labels come to is known once all have been looked at."""
        raise NotImplementedError


@dataclass(frozen=True)
class _SettledLabels(_Labels):
    """Labels in classes that are known.

    Attributes
    ----------
    names : array
        The classes that some row with a weight belongs to.
    codes : dict or None
        The class of every entry; None where rows of probabilities are read.
    present : array of int
        Which columns of the probabilities belong to these classes.
    factors : array of shape (n_classes,) or None
        What a row of probabilities is weighted by, class by class.
    has_offset : bool
    """

    names: NDArray[Any]
    codes: dict[Any, int] | None
    present: IntArray
    factors: FloatArray | None
    has_offset: bool

    @cached_property
    def columns(self) -> RowColumns:
        """One number for two classes or a label, else one for each class; likewise of the offsets."""
        n_classes = 1 if self.names.size == 2 else self.names.size
        return RowColumns(1 if self.codes is not None else n_classes, n_classes if self.has_offset else 0)

    def read(self, batch: Batch, n_rows: int) -> tuple[FloatArray, FloatArray | None]:
        """Codes or probabilities, then offsets."""
        weight = weights_of(batch.weight, n_rows)
        if self.codes is not None:
            entries, place = distinct_entries(batch.y)
            known = np.array([self.codes[entry_key(entry)] for entry in entries.tolist()], dtype=np.float64)
            values = known[place][:, None]
        else:
            found = Targets(self.names, self.shares(batch, n_rows)[1][:, self.present])
            if self.factors is not None:
                factors = dict(zip(self.names.tolist(), self.factors.tolist(), strict=True))
                found, weight = with_class_weight(found, weight, factors)
            values = found.values[:, 1:] if self.names.size == 2 else found.values
        if not self.has_offset:
            return values, weight
        offset: Any = read_offsets(_array(batch.beside["offset"]), n_rows, self.names.size)
        return np.column_stack([values, offset]), weight


def _array(values: Any) -> Any:
    """Columns of an Arrow table side by side, the rest as it is."""
    if is_arrow(values):
        return np.column_stack([column.to_numpy() for column in values.columns])
    return values


def distant_data(
    estimator: Any, X: Any, y: Any, weight: Any, offset: Any, *, strength: Strength, always_center: bool
) -> tuple[DistantLogisticData, NDArray[Any], FloatArray | None]:
    """The rows of a fit, the classes, and what the columns were divided by.

    Parameters
    ----------
    estimator : LogisticRegression
    X, y, weight, offset
        What the user gave.
    strength : Strength
    always_center : bool
        Whether columns are shifted even where it does not pay.
    """
    generative = fitted_generative(estimator.from_generative, X, y, weight, estimator.missing_label)
    classes = estimator.classes
    if generative is not None and classes is None:
        check_is_fitted(generative)
        classes = generative.classes_
    reader = _Labels(classes, estimator.missing_label, generative)
    seen = look_at(
        estimator,
        X,
        y,
        weight,
        reader,
        fit_intercept=bool(estimator.fit_intercept),
        always_center=always_center,
        beside={"offset": offset},
    )
    settled, totals, factors = _settled(estimator, reader, seen)
    reference = not strength.chooses
    n_outputs = 1 if settled.names.size == 2 else settled.names.size - int(reference)
    size = GramTally.nbytes((seen.form.n_features + 1) * n_outputs)
    data = DistantLogisticData.of(
        seen.make(settled, n_outputs, size),
        seen.form,
        totals,
        factors=factors if settled.codes is not None else None,
        reference=reference,
        careful=seen.careful,
        columns=settled.columns,
    )
    return data, settled.names, seen.scale


def _settled(
    estimator: Any, reader: _Labels, seen: DistantTable
) -> tuple[_SettledLabels, FloatArray, FloatArray | None]:
    """A reader that knows the classes, their weights, and what rows are multiplied by, by their class."""
    found: _TargetSurvey = seen.survey.target
    if found.classes is not None and found.totals is not None:
        _check_known(found, reader.missing_label)
        # Every class once, with the weight of its share of all rows: to what classes come to they are the rows.
        targets, before = Targets(found.classes, np.arange(found.classes.size)), found.totals
        present = np.flatnonzero(before > 0.0)
    else:
        assert found.labels is not None
        # Every different label once, with the weight of all its rows.
        entries, counts = found.labels.small()
        before = np.ascontiguousarray(counts[:, 2])
        n_rows = entries.shape[0]
        targets = read_targets(
            entries, None, None, n_rows=n_rows, classes=reader.classes, missing_label=reader.missing_label
        )
        present = np.zeros(0, dtype=np.int64)
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
    codes = None
    if found.classes is None and found.labels is not None:
        codes = dict(zip(found.labels.entries, targets.values.tolist(), strict=True))
    settled = _SettledLabels(
        reader.classes,
        reader.missing_label,
        reader.generative,
        targets.classes,
        codes,
        present,
        factors,
        found.has_offset,
    )
    return settled, targets.class_weights(after), factors


def _check_known(found: _TargetSurvey, missing_label: Any) -> None:
    """Refuse a model that fills in labels of classes that no row has."""
    if found.labels is None or found.classes is None:
        return
    entries, _ = found.labels.small()
    names = read_labels(entries, entries.shape[0], missing_label=missing_label, estimator="LogisticRegression")[1]
    if sorted(map(str, names.tolist())) != sorted(map(str, found.classes.tolist())):
        raise InputError(
            f"from_generative= knows the classes {found.classes.tolist()}, but y holds {names.tolist()}; fit it to the "
            "same labels."
        )
