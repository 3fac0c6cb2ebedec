"""Linear models of numeric targets on rows that are not in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.chunks import chunk_rows, segment_chunks
from softcount.core.execute import ThreadExecutor
from softcount.core.facts import Facts
from softcount.core.glm.data import RowWeights
from softcount.core.glm.distant import DistantGLMData, TargetFacts
from softcount.core.glm.families import GaussianFamily, GLMFamily
from softcount.core.glm.links import Link, resolve_link
from softcount.core.glm.start import null_deviance
from softcount.core.linear_chunks import DesignForm, RowColumns
from softcount.core.normal_equations import GramTally
from softcount.core.streamed import Piece
from softcount.estimators.distant.face import over_batches
from softcount.estimators.distant.linear import DistantTable, TargetReader, Vector, look_at
from softcount.estimators.distant.sources import rows_of, surveyed
from softcount.estimators.distant.training import n_rows_of, weights_of
from softcount.estimators.glm.inputs import check_target, read_offset, read_target, row_weights
from softcount.families.blocks import DenseBlock
from softcount.inputs.batches import Batch, at

__all__ = ["distant_score", "distant_table", "read_distant"]


@dataclass(frozen=True)
class TargetSurvey:
    """A first look at some targets.

    Attributes
    ----------
    values : Vector
        Weight, mean and spread.
    n_observations : float
        Rows of weight above zero, each as often as it was observed.
    offset : Vector or None
        Of the offsets, without weights.
    columns : RowColumns
        What a row has beside its target.
    """

    values: Vector
    n_observations: float
    offset: Vector | None
    columns: RowColumns

    def __add__(self, other: TargetSurvey) -> TargetSurvey:
        if (self.offset is None) is not (other.offset is None):
            raise InputError("Some batches come with an offset or an exposure, and others without.")
        return TargetSurvey(
            self.values + other.values,
            self.n_observations + other.n_observations,
            None if self.offset is None or other.offset is None else self.offset + other.offset,
            RowColumns(**{kind: max(n, getattr(other.columns, kind)) for kind, n in vars(self.columns).items()}),
        )


@dataclass(frozen=True)
class _Numbers(TargetReader):
    """Targets as numbers, with the factors of the weights where they are needed apart, and offsets.

    Attributes
    ----------
    family : GLMFamily
        Which says what targets may be.
    link : Link or None
        Which says whether there may be an exposure; None is the identity.
    mean : float or None
        What stands for the target of a row without weight, once it is known.
    held : RowColumns
        What a row has, once it is known.
    """

    family: GLMFamily
    link: Link | None = None
    mean: float | None = None
    held: RowColumns = field(default_factory=RowColumns)

    @property
    def columns(self) -> RowColumns:
        """What :meth:`read` gives."""
        return self.held

    def parts(self, batch: Batch, n_rows: int) -> tuple[FloatArray, RowWeights]:
        """The target of every row, and the factors of its weight."""
        target, trials = read_target(self.family, batch.y, n_rows)
        precision = weights_of(batch.weight, n_rows)
        frequency = weights_of(batch.beside.get("frequency_weight"), n_rows, "frequency_weight")
        return target, row_weights(frequency, precision, trials)

    def weight(self, batch: Batch, n_rows: int) -> FloatArray | None:
        """What every row of a batch counts: the product of its weights and the number of its trials."""
        return None if batch.y is None else self.parts(batch, n_rows)[1].total()

    def _offset(self, batch: Batch, n_rows: int) -> FloatArray | None:
        link = resolve_link("identity") if self.link is None else self.link
        return read_offset(link, batch.beside.get("offset"), batch.beside.get("exposure"), n_rows)

    def look(self, batch: Batch, n_rows: int, weight: FloatArray | None) -> TargetSurvey:
        """Weight, mean and spread of some targets."""
        target, parts = self.parts(batch, n_rows)
        check_target(self.family, target, None if weight is None else weight > 0.0)
        offset = self._offset(batch, n_rows)
        # A precision alone is the weight itself.
        are_apart = parts.frequency is not None or parts.multiplicity is not None
        kept = {kind: int(are_apart and part is not None) for kind, part in vars(parts).items()}
        return TargetSurvey(
            Vector.of(target[:, None], weight),
            parts.n_observations(n_rows),
            None if offset is None else Vector.of(offset[:, None]),
            RowColumns(1, int(offset is not None), **kept),
        )

    def read(self, batch: Batch, n_rows: int) -> tuple[FloatArray, FloatArray | None]:
        """The target of every row, its offset and the factors of its weight, and the weight."""
        target, parts = self.parts(batch, n_rows)
        weight = parts.total()
        if weight is not None and self.mean is not None and not weight.all():
            # A row without weight takes no part; its target only has to be computable.
            target = np.where(weight > 0.0, target, self.mean)
        given = {"target": target, "offset": self._offset(batch, n_rows), **vars(parts)}
        found = [given[kind] for kind, n_columns in vars(self.held).items() if n_columns]
        return np.column_stack([np.ones(n_rows) if part is None else part for part in found]), weight


def distant_table(
    estimator: Any,
    X: Any,
    y: Any,
    weight: Any,
    *,
    family: GLMFamily,
    link: Link | None = None,
    fit_intercept: bool,
    always_center: bool,
    beside: dict[str, Any] | None = None,
) -> tuple[DistantTable, Any]:
    """A first look at all rows, and the rows themselves."""
    seen = look_at(
        estimator,
        X,
        y,
        weight,
        _Numbers(family, link),
        fit_intercept=fit_intercept,
        always_center=always_center,
        may_scale=False,
        beside=beside,
    )
    target: TargetSurvey = seen.survey.target
    reader = _Numbers(family, link, float(target.values.mean[0]), target.columns)
    return seen, seen.make(reader, 1, GramTally.nbytes(seen.form.n_features + 1))


def read_distant(
    estimator: Any, X: Any, y: Any, given: dict[str, Any], *, family: GLMFamily, link: Link, fit_intercept: bool
) -> DistantGLMData:
    """The rows of a fit that are not in memory.

    Parameters
    ----------
    estimator : GLM
    X, y
        What the user gave.
    given : dict
        Weights and offsets by name.
    family : GLMFamily
    link : Link
    fit_intercept : bool
    """
    seen, rows = distant_table(
        estimator,
        X,
        y,
        given["sample_weight"],
        family=family,
        link=link,
        fit_intercept=fit_intercept,
        always_center=False,
        beside={name: value for name, value in given.items() if name != "sample_weight"},
    )
    target: TargetSurvey = seen.survey.target
    return DistantGLMData.of(rows, seen.form, target_facts(target), target.columns)


def target_facts(target: TargetSurvey) -> TargetFacts:
    """What a fit has to know of all targets."""
    values, offset = target.values, target.offset
    return TargetFacts(
        values.weight,
        target.n_observations,
        float(values.mean[0]),
        float(values.scatter[0]) / values.weight,
        float(values.size[0]),
        None if offset is None else (float(offset.mean[0]), float(offset.low[0]), float(offset.high[0])),
    )


# ---- scores
def distant_score(
    estimator: Any,
    X: Any,
    y: Any,
    weight: Any,
    *,
    family: GLMFamily | None = None,
    link: Link | None = None,
    beside: dict[str, Any] | None = None,
) -> float:
    r"""Share of deviance explained, of rows that are not in memory: passes for the null model, and one for the model.

    Parameters
    ----------
    estimator : GLM or BayesianLinearRegression
    X, y, weight
        What the user gave.
    family : GLMFamily or None
        Whose deviance; the Gaussian's by default, which gives R².
    link : Link or None
        The identity by default.
    beside : dict, optional
        Offset and exposure, where the estimator takes them.
    """
    of = GaussianFamily() if family is None else family
    via = resolve_link("identity") if link is None else link
    given, survey = surveyed(estimator, X, y, weight, _BareLook(_Numbers(of, link)), beside=beside)
    total: TargetSurvey = survey.target
    if not total.values.weight > 0.0:
        raise InputError("Sample weights are zero in all rows, so there is nothing to judge the model by.")
    reader = _Numbers(of, link, float(total.values.mean[0]), total.columns)
    layout = (DenseBlock(np.empty((0, 0))), DenseBlock(np.empty((0, total.columns.total))))
    facts = Facts(survey.n_rows, total.values.weight, survey.n_rows, survey.n_rows)
    grid = {"rows_per_chunk": chunk_rows(1, float(total.columns.total)), "fewest_chunks": segment_chunks(0)}
    rows = rows_of(given, _BareReader(reader), layout, facts, grid)
    bare = DistantGLMData.of(rows, DesignForm(0), target_facts(total), total.columns)
    null = null_deviance(of, via, bare, ThreadExecutor(getattr(estimator, "n_jobs", None)))
    parts = over_batches(estimator, X, y, weight, _Deviance(reader), beside=beside)
    deviance = sum(parts)
    return 1.0 - deviance / null if null > 0.0 else (1.0 if deviance == 0.0 else -math.inf)


@dataclass(frozen=True)
class _BareSurvey:
    """A first look at the targets of some rows, and at nothing else."""

    n_rows: int
    target: TargetSurvey

    def __add__(self, other: _BareSurvey) -> _BareSurvey:
        return _BareSurvey(self.n_rows + other.n_rows, self.target + other.target)


@dataclass(frozen=True)
class _BareLook:
    """Says of a batch what its targets are like."""

    reader: _Numbers

    def __call__(self, batch: Batch) -> _BareSurvey:
        with at(batch.where):
            if batch.y is None:
                raise InputError("score compares predictions with targets: name their column with y=.")
            n_rows = n_rows_of(batch.X)
            return _BareSurvey(n_rows, self.reader.look(batch, n_rows, self.reader.weight(batch, n_rows)))


@dataclass(frozen=True)
class _BareReader:
    """Reads batches as rows without columns."""

    reader: _Numbers

    def piece(self, batch: Batch) -> Piece:
        """Targets, offsets and weights of the batch."""
        with at(batch.where):
            n_rows = n_rows_of(batch.X)
            numbers, weight = self.reader.read(batch, n_rows)
            return Piece((DenseBlock(np.empty((n_rows, 0))), DenseBlock(numbers)), None, weight)


@dataclass(frozen=True)
class _Deviance:
    """The deviance of a batch from the predictions."""

    reader: _Numbers

    def __call__(self, estimator: Any, batch: Batch) -> float:
        target, parts = self.reader.parts(batch, n_rows_of(batch.X))
        weight = parts.total()
        if weight is not None and not weight.all():
            target = np.where(weight > 0.0, target, self.reader.mean or 0.0)
        shifts = {name: value for name, value in batch.beside.items() if value is not None}
        predicted = np.asarray(estimator.predict(batch.X, **shifts), dtype=np.float64)
        each = self.reader.family.unit_deviance(target, predicted)
        return float(each.sum() if weight is None else weight @ each)
