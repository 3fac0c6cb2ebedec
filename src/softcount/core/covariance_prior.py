r"""The prior of a discriminant's covariances: shrinkage, the divisor, and the smallest variance, fixed before any loop.

Shrinkage by :math:`s` towards a target :math:`T` is a conjugate prior, an inverse Wishart density: with a scatter
:math:`S` of weight :math:`w`,

.. math:: \frac{S + \nu T}{w + \nu} = (1 - s) \frac{S}{w} + s T \qquad\text{for}\qquad \nu = \frac{s}{1 - s}\, w .

:math:`s` and :math:`T` come from the labeled rows, before EM starts, and :math:`\nu` from the weight of all rows, so
that EM's objective, the likelihood plus the logarithm of that density, stands still while it is being climbed. The
divisor :math:`w - b` instead of :math:`w` is :math:`\nu = -b` in the same formula; with both,
:math:`\nu = \frac{s}{1-s}(w - b) - b`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray
from softcount.core.shrinkage import ClassShrinkage
from softcount.families.columns import ColumnFamily
from softcount.families.covariance import column_units
from softcount.families.gaussian import MomentPrior
from softcount.families.normal_priors import NormalInverseGamma, NormalInverseWishart, table_counts
from softcount.families.statistics import Moments

__all__ = ["COVARIANCES", "CovariancePlan", "LabeledMoments"]

COVARIANCES = ("tied", "full", "diag", "spherical")


@dataclass(frozen=True)
class LabeledMoments:
    """What the labeled rows say about the classes before any loop.

    Attributes
    ----------
    class_weight : array of shape (n_classes,)
        Weight of the rows of each class.
    weight, mean, scatter : arrays of shape (n_features, n_classes)
        Of the observed cells, column by column.
    """

    class_weight: FloatArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def from_moments(cls, class_weight: FloatArray, moments: Moments) -> LabeledMoments:
        """From the moments of the columns, or from full scatters, of which the diagonals are taken."""
        scatter = np.diagonal(moments.scatter, axis1=1, axis2=2).T if moments.is_full else moments.scatter
        return cls(class_weight, moments.weight, moments.mean, np.maximum(scatter, 0.0))

    def share(self) -> FloatArray:
        """Share of each class of the labeled rows."""
        known = float(self.class_weight.sum())
        if known <= 0.0:
            return np.full(self.class_weight.shape, 1.0 / self.class_weight.size)
        return np.asarray(self.class_weight / known)

    def present(self) -> BoolArray:
        """Columns of which some labeled row has a value; all columns where none has."""
        seen = np.asarray(self.weight.any(axis=1))
        return seen if seen.any() else np.ones_like(seen)

    def variance(self) -> FloatArray:
        """Variance of each column in each class, shape (n_features, n_classes)."""
        return np.asarray(self.scatter / np.where(self.weight > 0.0, self.weight, 1.0))

    def within(self, removed: float = 0.0) -> FloatArray:
        """Variance of each column within the classes; ``removed`` is taken off the divisor."""
        weight = self.weight.sum(axis=1)
        mass = np.where(weight > removed, weight - removed, weight)
        return np.asarray(self.scatter.sum(axis=1) / np.where(mass > 0.0, mass, 1.0))

    def units(self) -> tuple[FloatArray, BoolArray]:
        """Variance that counts as one in each column, and which columns are constant."""
        pooled = Moments(self.weight, self.mean, self.scatter).pooled()
        total = pooled.scatter[:, 0] / np.where(pooled.weight[:, 0] > 0.0, pooled.weight[:, 0], 1.0)
        return column_units(self.within(), total, pooled.mean[:, 0])


@dataclass(frozen=True)
class CovariancePlan:
    """How covariances are to be estimated.

    Attributes
    ----------
    kind : {"tied", "full", "diag", "spherical"}
    shared : bool
        Whether all classes share one (always true of ``"tied"``).
    unbiased : bool
        Whether the divisor is the weight minus one per mean that was estimated.
    shrinkage : float, "auto" or None
    least : float
        Smallest variance of any direction, in units of the columns' variances within classes.
    """

    kind: str
    shared: bool
    unbiased: bool
    shrinkage: float | str | None
    least: float

    def check(self) -> None:
        """Refuse what no covariance can be estimated with."""
        if self.kind not in COVARIANCES:
            raise InputError(f"covariance is {self.kind!r}; choose one of {', '.join(map(repr, COVARIANCES))}.")
        if self.shrinkage is None:
            return
        if self.shrinkage != "auto" and not _is_share(self.shrinkage):
            raise InputError(f"shrinkage is {self.shrinkage!r}; give a number between 0 and 1, 'auto' or None.")
        if self.kind == "spherical" or (self.kind == "diag" and self.shrinkage == "auto"):
            what = "a single variance" if self.kind == "spherical" else "variances without correlations"
            raise InputError(
                f"shrinkage={self.shrinkage!r} has nothing to shrink: covariance={self.kind!r} has {what}. Leave "
                "shrinkage out, or use covariance='tied' or 'full'."
            )

    def prior(self, labeled: LabeledMoments, by_class: ClassShrinkage | None, *, iterates: bool) -> MomentPrior:
        """The prior for these labeled rows; ``by_class`` is needed for ``shrinkage="auto"``.

        With ``iterates`` (EM follows) classes without labeled rows get a share, and the prior scatter is kept positive
        semidefinite, so that the objective is bounded; a closed form does not need that.
        """
        n_columns = labeled.weight.shape[0]
        removed = self._removed(labeled)
        share = _with_empty_classes(labeled.share()) if iterates else labeled.share()
        if self.shrinkage is None:
            pull = _no_pull(removed)
        elif self.shrinkage == "auto":
            assert by_class is not None
            if self.shared:
                pull = _pooled_auto(labeled, by_class, removed, iterates=iterates)
            else:
                pull = _own_auto(labeled, by_class, removed, share)
        else:
            pull = self._fixed(labeled, float(self.shrinkage), removed, share)
        return pull.as_prior(self.kind, n_columns, int(labeled.present().sum()), self._bound(labeled))

    def given(self, prior: Any, estimate: str, family: ColumnFamily, labeled: LabeledMoments) -> MomentPrior:
        """A prior of the user's; a covariance that several means share has it once, and the density of each of them."""
        if not isinstance(prior, NormalInverseGamma | NormalInverseWishart):
            raise InputError(
                f"feature_prior is {prior!r}; give a NormalInverseWishart for covariance='tied' or 'full', or a "
                "NormalInverseGamma for 'diag' or 'spherical' (softcount.priors has both)."
            )
        counts: MomentPrior = table_counts(prior, estimate, family, *labeled.weight.shape)
        return replace(counts, smoothing=0.0, floor=0.0, bound=self._bound(labeled))

    def _bound(self, labeled: LabeledMoments) -> FloatArray | None:
        """Smallest variance of each column."""
        return self.least * labeled.units()[0] if self.least > 0.0 else None

    def _removed(self, labeled: LabeledMoments) -> FloatArray:
        """What the divisor loses: one per class with more than one row, or all of it once when they share."""
        size = 1 if self.shared else labeled.class_weight.size
        if not self.unbiased:
            return np.zeros(size)
        by_cell = self.kind in ("diag", "spherical")
        weight = labeled.weight[labeled.present()].min(axis=0) if by_cell else labeled.class_weight
        if not self.shared:
            return np.where(weight > 1.0, 1.0, 0.0)
        n_classes = float(np.sum(weight > 0.0))
        return np.full(1, n_classes if weight.sum() > n_classes else 0.0)

    def _fixed(self, labeled: LabeledMoments, s: float, removed: FloatArray, share: FloatArray) -> _Pull:
        """Towards the mean variance with a given intensity."""
        units, _ = labeled.units()
        present = labeled.present()
        pooled = float(labeled.within(float(removed.sum()))[present].mean())
        pooled = pooled if pooled > 0.0 else float(units[present].mean())
        if self.shared:
            target, mass = np.full(1, pooled), np.ones(1)
        else:
            divisor = labeled.weight - removed
            with np.errstate(divide="ignore", invalid="ignore"):
                own = np.where(divisor > 0.0, labeled.scatter / divisor, np.nan)[present].mean(axis=0)
            target, mass = np.where(own > 0.0, own, pooled), share
        return _towards(np.full(target.shape, s), target[:, None] * np.ones_like(units), mass, removed)


def _is_share(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    return bool(0.0 <= float(value) <= 1.0)


@dataclass(frozen=True)
class _Pull:
    """Scatter and degrees of freedom, absolute and per unit of weight; one of each per covariance that is free."""

    scatter: FloatArray
    dof: FloatArray
    scatter_per_weight: FloatArray
    dof_per_weight: FloatArray

    def as_prior(self, kind: str, n_columns: int, n_present: int, bound: FloatArray | None) -> MomentPrior:
        """The prior, laid out as the family wants it."""
        if kind in ("diag", "spherical"):
            # One variance for all columns loses a divisor for each of them.
            columns = n_present if kind == "spherical" else 1
            scatter, dof = self.scatter.T, columns * self.dof[None, :]
            relative = (self.scatter_per_weight.T, columns * self.dof_per_weight[None, :])
        else:
            eye = np.eye(n_columns)
            scatter, dof = _matrices(self.scatter, eye), self.dof
            relative = (_matrices(self.scatter_per_weight, eye), self.dof_per_weight)
        is_relative = bool(np.any(relative[0]) or np.any(relative[1]))
        return MomentPrior(
            scatter=scatter,
            dof=dof,
            smoothing=0.0,
            floor=0.0,
            bound=bound,
            relative=relative if is_relative else None,
        )


def _matrices(scatter: FloatArray, eye: FloatArray) -> FloatArray:
    """Diagonals (m, d) as matrices; matrices as they are. A single one loses its first axis."""
    full = scatter[:, :, None] * eye if scatter.ndim == 2 else scatter
    return np.asarray(full[0] if full.shape[0] == 1 else full)


def _no_pull(removed: FloatArray) -> _Pull:
    nothing = np.zeros((removed.size, 1))
    return _Pull(nothing, -removed, nothing, np.zeros_like(removed))


def _towards(s: FloatArray, target: FloatArray, share: FloatArray, removed: FloatArray) -> _Pull:
    """Shrinkage by ``s`` towards the diagonals ``target`` of covariances that hold a ``share`` of the weight each."""
    certain = s >= 1.0
    odds = np.where(certain, 0.0, s / np.where(certain, 1.0, 1.0 - s))
    return _Pull(
        np.where(certain, 1.0, -odds * removed)[:, None] * target,
        np.where(certain, np.inf, -(odds + 1.0) * removed),
        (odds * share)[:, None] * target,
        odds * share,
    )


def _with_empty_classes(share: FloatArray) -> FloatArray:
    """Shares in which a class without labeled rows counts as much as the others on average."""
    return np.where(share > 0.0, share, share[share > 0.0].mean())


def _own_auto(labeled: LabeledMoments, by_class: ClassShrinkage, removed: FloatArray, share: FloatArray) -> _Pull:
    """Every class towards its own variances; a class whose rows tell nothing takes those of all classes."""
    units, _ = labeled.units()
    usable = (labeled.class_weight > 1.0) & (labeled.scatter.sum(axis=0) > 0.0)
    s = np.where(usable, by_class.intensity, 1.0)
    divisor = np.where(usable, labeled.class_weight - removed, 1.0)
    inflation = np.where(usable, labeled.class_weight / divisor, 1.0)
    target = np.where(usable[:, None], by_class.target * inflation[:, None], units)
    return _towards(s, target, share, removed)


def _pooled_auto(labeled: LabeledMoments, by_class: ClassShrinkage, removed: FloatArray, *, iterates: bool) -> _Pull:
    """One covariance for all: the average of the classes' shrunk ones, as the mode of a prior and the data.

    Classes are shrunk by different intensities, so the prior that gives exactly that average holds what is left over
    of each class's scatter: positive for those shrunk less than the average, negative for those shrunk more.
    """
    share = labeled.share()
    # Ones have to add up to one: just below it the prior's part of the objective drowns what rows still add to it.
    certain = bool((by_class.intensity[share > 0.0] >= 1.0).all())
    s = 1.0 if certain else float(share @ by_class.intensity)
    shrunk = np.einsum("k,kde->de", share, by_class.shrunk())[None]
    nothing, zero = np.zeros_like(shrunk), np.zeros(1)
    if s >= 1.0:
        weight = max(float(labeled.class_weight.sum()), 1.0)
        return _Pull(shrunk * (weight / (weight - removed[0])), np.full(1, np.inf), nothing, zero)
    left: Any = shrunk / (1.0 - s) - np.einsum("k,kde->de", share, by_class.covariance)
    if iterates:
        values, vectors = np.linalg.eigh(left[0])
        left = ((vectors * np.maximum(values, 0.0)) @ vectors.T)[None]
    return _Pull(nothing, -removed / (1.0 - s), left, np.full(1, s / (1.0 - s)))
