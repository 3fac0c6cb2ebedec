"""Linear models of numeric targets on rows that are not in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.glm.distant import DistantGLMData, TargetFacts
from softcount.core.glm.families import GaussianFamily, GLMFamily
from softcount.core.glm.inference import RowWeights
from softcount.core.normal_equations import GramTally
from softcount.estimators.distant.face import over_batches
from softcount.estimators.distant.linear import DistantTable, TargetReader, Vector, look_at
from softcount.estimators.glm.inputs import ReadData, check_target, read_target

__all__ = ["distant_score", "distant_table", "read_distant", "taken_in_batches"]


@dataclass(frozen=True)
class _Numbers(TargetReader):
    """Targets as numbers.

    Attributes
    ----------
    family : GLMFamily
        Which says what targets may be.
    mean : float or None
        What stands for the target of a row without weight, once it is known.
    """

    family: GLMFamily
    mean: float | None = None

    def look(self, y: Any, n_rows: int, weight: FloatArray | None) -> Vector:
        """Weight, mean and spread of some targets."""
        target, trials = read_target(self.family, y, n_rows)
        if trials is not None:
            raise InputError("Two columns of successes and failures are taken for rows in memory alone.")
        check_target(self.family, target, None if weight is None else weight > 0.0)
        return Vector.of(target[:, None], weight)

    def numbers(self, y: Any, n_rows: int, weight: FloatArray | None) -> FloatArray:
        """The target of every row."""
        target, _ = read_target(self.family, y, n_rows)
        if weight is None or self.mean is None or weight.all():
            return target
        # A row without weight takes no part; its target only has to be computable.
        return np.where(weight > 0.0, target, self.mean)


def distant_table(
    estimator: Any, X: Any, y: Any, weight: Any, *, family: GLMFamily, fit_intercept: bool, always_center: bool
) -> tuple[DistantTable, Any]:
    """A first look at all rows, and the rows themselves."""
    seen = look_at(
        estimator,
        X,
        y,
        weight,
        _Numbers(family),
        fit_intercept=fit_intercept,
        always_center=always_center,
        may_scale=False,
    )
    mean = float(seen.survey.target.mean[0])
    return seen, seen.make(_Numbers(family, mean), 1, GramTally.nbytes(seen.form.n_features + 1))


def taken_in_batches(y: Any, weights: dict[str, Any], shifts: dict[str, Any]) -> bool:
    """Whether rows with these targets, weights and offsets can be read batch by batch."""
    others = [weights["frequency_weight"], *shifts.values()]
    return all(value is None for value in others) and np.ndim(y) < 2


def read_distant(
    estimator: Any, X: Any, y: Any, given: dict[str, Any], *, family: GLMFamily, fit_intercept: bool
) -> ReadData:
    """The rows of a fit that are not in memory.

    Parameters
    ----------
    estimator : GLM
    X, y
        What the user gave.
    given : dict
        Weights and offsets by name.
    family : GLMFamily
    fit_intercept : bool
    """
    refused = [name for name, value in given.items() if value is not None and name != "sample_weight"]
    if refused:
        raise InputError(f"{refused[0]}= is taken for rows in memory alone; of files sample_weight= names a column.")
    seen, rows = distant_table(
        estimator,
        X,
        y,
        given["sample_weight"],
        family=family,
        fit_intercept=fit_intercept,
        always_center=False,
    )
    target = seen.survey.target
    facts = TargetFacts(
        seen.survey.total_weight,
        seen.survey.n_used,
        float(target.mean[0]),
        float(target.scatter[0]) / target.weight,
        float(target.size[0]),
    )
    return ReadData(DistantGLMData.of(rows, seen.form, facts), RowWeights())


# ---- scores
def distant_score(estimator: Any, X: Any, y: Any, weight: Any, family: GLMFamily | None = None) -> float:
    r"""Share of deviance explained, of rows that are not in memory: a pass for the targets, and one for the model.

    Parameters
    ----------
    estimator : GLM or BayesianLinearRegression
    X, y, weight
        What the user gave.
    family : GLMFamily or None
        Whose deviance; the Gaussian's by default, which gives R².
    """
    of = GaussianFamily() if family is None else family
    parts = over_batches(estimator, X, y, weight, _TargetsOf(of))
    facts: Any = parts[0]
    for part in parts[1:]:
        facts = facts + part
    if not facts.weight > 0.0:
        raise InputError("Sample weights are zero in all rows, so there is nothing to judge the model by.")
    null = float(facts.mean[0])
    sums = over_batches(estimator, X, y, weight, _Deviances(of, null))
    deviance, at_null = (sum(values) for values in zip(*sums, strict=True))
    return 1.0 - deviance / at_null if at_null > 0.0 else (1.0 if deviance == 0.0 else -math.inf)


@dataclass(frozen=True)
class _TargetsOf:
    """Weight and mean of the targets of a batch."""

    family: GLMFamily

    def __call__(self, estimator: Any, X: Any, y: Any, weight: FloatArray | None) -> Vector:
        if y is None:
            raise InputError("score compares predictions with targets: name their column with y=.")
        return _Numbers(self.family).look(y, X.shape[0], weight)


@dataclass(frozen=True)
class _Deviances:
    """The deviance of a batch from the predictions, and from one mean."""

    family: GLMFamily
    mean: float

    def __call__(self, estimator: Any, X: Any, y: Any, weight: FloatArray | None) -> tuple[float, float]:
        target = _Numbers(self.family, self.mean).numbers(y, X.shape[0], weight)
        predicted = np.asarray(estimator.predict(X), dtype=np.float64)
        share = np.ones(target.shape) if weight is None else weight
        level = np.full(target.shape, self.mean)
        found = [float(share @ self.family.unit_deviance(target, mean)) for mean in (predicted, level)]
        return found[0], found[1]
