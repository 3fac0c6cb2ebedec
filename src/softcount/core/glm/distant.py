"""Rows of a generalized linear model that are not in memory: every pass is that over each chunk, added up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from softcount._types import FloatArray
from softcount.core.chunks import Chunk, DistantRows
from softcount.core.column_moments import deviations_of, squares_of
from softcount.core.execute import Executor
from softcount.core.glm.data import GLMData, RowWeights
from softcount.core.glm.families import GLMFamily
from softcount.core.glm.families.gamma import GammaFamily
from softcount.core.glm.links import Link
from softcount.core.glm.rows import GLMRows
from softcount.core.linear_chunks import SERIAL, DesignForm, Largest, RowColumns, RowsElsewhere
from softcount.core.logistic.distant import DistantCurvedRows
from softcount.families.statistics import Sums

__all__ = ["DistantGLMData", "DistantGLMRows", "TargetFacts", "distant_likelihood"]

#: What a row of a generalized linear model has beside its columns.
PER_ROW = ("target", "offset", "frequency", "precision", "multiplicity")


@dataclass(frozen=True)
class TargetFacts:
    """What a fit has to know of all targets before it starts; weighted.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    n_observations : float
        Rows of weight above zero, each as often as it was observed.
    mean, variance, size : float
        Mean, variance, and mean absolute value.
    offset : tuple of float or None
        Mean, smallest and largest offset; not weighted.
    """

    weight: float = 0.0
    n_observations: float = 0.0
    mean: float = 0.0
    variance: float = 0.0
    size: float = 0.0
    offset: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class DistantGLMData(RowsElsewhere, GLMData):
    """All rows of a model, which are not in memory.

    Attributes
    ----------
    source, form, columns
        As for :class:`~softcount.core.linear_chunks.RowsElsewhere`.
    facts : TargetFacts
    """

    source: DistantRows | None = None
    form: DesignForm = field(default_factory=lambda: DesignForm(0))
    facts: TargetFacts = field(default_factory=TargetFacts)
    columns: RowColumns = field(default_factory=RowColumns)

    @classmethod
    def of(cls, source: DistantRows, form: DesignForm, facts: TargetFacts, columns: RowColumns) -> DistantGLMData:
        """All rows of a source whose second block holds the targets."""
        return cls(form.empty(), np.zeros(0), source=source, form=form, facts=facts, columns=columns)

    def here(self, chunk: Chunk) -> GLMData:
        """The rows of one chunk, in memory."""
        target, offset, *parts = (self.columns.of(chunk, kind) for kind in PER_ROW)
        # Where the factors are not kept apart there is one, the precision.
        apart = RowWeights(*parts) if any(part is not None for part in parts) else RowWeights(None, chunk.weight)
        return GLMData(self.form.of(chunk.blocks[0]), target, chunk.weight, offset, apart)

    @property
    def chunks(self) -> Any:
        """The rows, each chunk as its own rows in memory when it is counted."""
        return self.own_chunks

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.there().n_rows

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return self.facts.weight

    @property
    def n_observations(self) -> float:
        """Rows with a weight, each counted as often as it was observed."""
        return self.facts.n_observations

    @property
    def has_offset(self) -> bool:
        """Whether something is added to the linear predictor."""
        return self.facts.offset is not None

    def offset_levels(self) -> tuple[float, float, float]:
        """Mean, smallest and largest offset."""
        assert self.facts.offset is not None
        return self.facts.offset

    def all_have_means(self, family: Any, link: Any, predictor: float, executor: Executor) -> bool:
        """Whether a predictor, the same for all rows but for their offsets, is that of a mean in every row."""

        def lacking(rows: GLMData, start: int) -> Largest:
            return Largest(float(not rows.all_have_means(family, link, predictor, SERIAL)))

        return bool(self.each(executor, lacking).value == 0.0)

    @property
    def mean_target(self) -> float:
        """Weighted mean of the targets."""
        return self.facts.mean

    def spread_targets(self) -> tuple[FloatArray, None]:
        """Two targets of the same mean and variance as all."""
        step = self.facts.variance**0.5
        return np.array([self.facts.mean - step, self.facts.mean + step]), None

    def sized_targets(self) -> tuple[FloatArray, None]:
        """Two targets of the same mean and mean absolute value as all."""
        return np.array([self.facts.size + self.facts.mean, self.facts.mean - self.facts.size]), None

    def unpacked(self) -> DistantGLMData:
        """The same rows; chunks of a sparse table will be unpacked."""
        return self._with_form(replace(self.form, unpack=True))

    def without_columns(self) -> DistantGLMData:
        """The same rows without a column but the intercept."""
        return self._with_form(DesignForm(0, self.form.fit_intercept))

    def _with_form(self, form: DesignForm) -> DistantGLMData:
        return replace(self, form=form, design=form.empty())

    def deviations(self, executor: Executor) -> FloatArray:
        """Standard deviation of every column; 1 for the intercept."""
        sums = self.each(executor, lambda rows, _: squares_of(rows.design, SERIAL))
        return deviations_of(sums, self.n_samples, fit_intercept=self.form.fit_intercept)


@dataclass(frozen=True)
class DistantGLMRows(DistantCurvedRows, GLMRows):
    """The rows for methods that never form a matrix of the columns.

    Attributes
    ----------
    source, form, n_rows, columns
        As for :class:`~softcount.core.logistic.distant.DistantCurvedRows`.
    all_weight : float
        Sum of the weights.
    """

    source: DistantRows | None = None
    form: DesignForm = field(default_factory=lambda: DesignForm(0))
    n_rows: int = 0
    all_weight: float = 0.0
    columns: RowColumns = field(default_factory=RowColumns)

    @classmethod
    def of_data(cls, family: GLMFamily, link: Link, data: DistantGLMData) -> DistantGLMRows:
        """The rows of ``data``."""
        return cls(
            family,
            link,
            data.form.empty(),
            np.zeros(0),
            careful=data.form.center is not None,
            source=data.source,
            form=data.form,
            n_rows=data.n_samples,
            all_weight=data.total_weight,
            columns=data.columns,
        )

    def here(self, chunk: Chunk) -> GLMRows:
        """The rows of one chunk, in memory."""
        design = self.form.of(chunk.blocks[0])
        target, offset = (self.columns.of(chunk, kind) for kind in ("target", "offset"))
        return GLMRows(self.family, self.link, design, target, chunk.weight, offset, self.careful)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the row weights."""
        return self.all_weight

    def deviations(self, executor: Executor) -> FloatArray:
        """Standard deviation of every column; 1 for the intercept."""
        sums = self.each(executor, lambda rows, _: squares_of(rows.design, SERIAL))
        return deviations_of(sums, self.n_rows, fit_intercept=self.form.fit_intercept)


# ---- the likelihood
@dataclass(frozen=True)
class _Levels:
    """How many observations have each precision."""

    levels: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rows: GLMData) -> _Levels:
        """Of some rows; those of weight zero are left out."""
        _, precision, frequency, _ = _counted(rows)
        levels, place = np.unique(precision, return_inverse=True)
        return cls(levels, np.bincount(place, frequency, minlength=levels.size).astype(np.float64))

    def __add__(self, other: _Levels) -> _Levels:
        levels, place = np.unique(np.concatenate([self.levels, other.levels]), return_inverse=True)
        return _Levels(levels, np.bincount(place, np.concatenate([self.counts, other.counts])).astype(np.float64))


def _counted(rows: GLMData) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Targets, precisions, frequencies and multiplicities (frequencies included) of the rows with a weight."""
    ones, parts = np.ones(rows.target.size), rows.parts
    precision = ones if parts.precision is None else parts.precision
    frequency = ones if parts.frequency is None else parts.frequency
    multiplicity = frequency if parts.multiplicity is None else frequency * parts.multiplicity
    used = precision * multiplicity > 0.0
    return rows.target[used], precision[used], frequency[used], multiplicity[used]


def distant_likelihood(
    family: GLMFamily, data: DistantGLMData, deviance: float, executor: Executor, *, pearson: float, block_rows: int
) -> tuple[float, float]:
    """The dispersion the likelihood is stated at, and the log-likelihood, where there is one.

    Parameters
    ----------
    family : GLMFamily
    data : DistantGLMData
    deviance, pearson : float
        The total deviance, and Pearson's estimate of the dispersion.
    executor : Executor
    block_rows : int
        Rows to look at at a time.
    """
    dispersion = family.fixed_dispersion
    if dispersion is None:
        levels = _Levels(np.ones(1), np.array([data.n_observations]))
        if isinstance(family, GammaFamily):  # the only one that looks at single weights
            levels = data.each(executor, lambda rows, _: _Levels.of(rows))
        dispersion = family.likelihood_dispersion(deviance, pearson, levels.levels, levels.counts)
    if not dispersion > 0.0:
        return dispersion, np.inf if dispersion == 0.0 else np.nan

    def terms(rows: GLMData, start: int) -> Sums:
        target, precision, _, multiplicity = _counted(rows)
        total = 0.0
        for first in range(0, target.size, block_rows):
            block = slice(first, first + block_rows)
            each = family.saturated_log_likelihood(target[block], precision[block], level)
            total += float(multiplicity[block] @ each)
        return Sums({"sum": np.array([total])})

    level = float(dispersion)
    found = data.each(executor, terms)
    return level, float(found["sum"][0]) - 0.5 * deviance / level
