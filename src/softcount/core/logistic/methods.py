"""From the name of a solver to the method of the next stage, with the curvature it starts from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from softcount._types import BoolArray, FloatArray
from softcount.core.counts import Counts
from softcount.core.execute import Executor
from softcount.core.logistic.curved_rows import row_states
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.gradient import GradientMethod
from softcount.core.logistic.model import LogisticMethod
from softcount.core.logistic.newton import NewtonMethod
from softcount.core.logistic.penalty import LogisticPenalty
from softcount.core.logistic.precondition import BlockPreconditioner, ExplicitPreconditioner
from softcount.core.logistic.quasi_newton import QuasiNewtonMethod
from softcount.core.logistic.start import spread_stride
from softcount.core.logistic.truncated import TruncatedNewtonMethod
from softcount.core.logistic.working_set import WorkingSetMethod

__all__ = ["Restricted", "Solver", "method_for", "part_stride", "tally_information"]

Solver = Literal["auto", "newton", "irls", "lbfgs", "gradient", "newton-cg"]
#: Fits the problem restricted to some columns: data, penalty and starting coefficients to coefficients.
Restricted: TypeAlias = Callable[[LogisticData, LogisticPenalty, FloatArray], FloatArray]

#: Up to this many coefficients a matrix of them is formed.
MOST_COEFFICIENTS = 2500
#: With fewer rows than this, or than this many per coefficient, Newton's method sees all of them every time.
FEW_ROWS = 20_000
PART_ROWS_PER_COEFFICIENT = 100
SMALLEST_STRIDE = 4
#: Iterations after which a quasi-Newton method looks at the curvature afresh.
LBFGS_STAGE = 30
#: A method that never needs to be renewed.
NO_LIMIT = 2**62
POWER_STEPS = 60


def method_for(
    data: LogisticData,
    penalty: LogisticPenalty,
    kept: BoolArray,
    coef: FloatArray,
    *,
    solver: Solver,
    executor: Executor,
    restricted: Restricted,
) -> tuple[LogisticMethod, int]:
    """The method of the next stage, and how many iterations it is good for."""
    is_wide = data.n_coefficients > MOST_COEFFICIENTS
    if solver == "gradient":
        return gradient_method(data, penalty, kept, executor), NO_LIMIT
    if penalty.has_l1 and is_wide:
        return WorkingSetMethod(executor, restricted, MOST_COEFFICIENTS), NO_LIMIT
    if solver == "lbfgs":
        if is_wide:
            probability = row_states(data, coef, executor)
            wide = BlockPreconditioner.of(data, penalty, kept, probability, executor)
            return QuasiNewtonMethod(wide), LBFGS_STAGE
        information = part_information(data, coef, executor)
        explicit = ExplicitPreconditioner.of(information, penalty, np.tile(kept, data.n_outputs))
        return QuasiNewtonMethod(explicit), LBFGS_STAGE
    if is_wide or (solver == "newton-cg" and not penalty.has_l1):
        return TruncatedNewtonMethod(executor), NO_LIMIT
    return NewtonMethod(reweighted=solver == "irls"), NO_LIMIT


def part_stride(data: LogisticData) -> int:
    """The stride of a part of the rows that says enough about all of them, or 1."""
    if data.is_distant:  # a look at a part would be one at all of them
        return 1
    enough = PART_ROWS_PER_COEFFICIENT * data.n_coefficients
    # More of them make better steps, as long as a look at them costs little beside a pass over all rows.
    wanted = max(FEW_ROWS // SMALLEST_STRIDE, enough, min(4 * enough, data.n_samples // 16))
    stride = spread_stride(data.n_samples, wanted)
    return stride if stride >= SMALLEST_STRIDE else 1


def tally_information(data: LogisticData, coef: FloatArray, executor: Executor) -> Counts:
    """Log-likelihood, score and information of all rows."""
    return executor.reduce(
        lambda lane: data.tally_information(coef, lane), data.slices, counts_bytes=data.information_bytes()
    )


def part_information(data: LogisticData, coef: FloatArray, executor: Executor) -> FloatArray:
    """The information of a part of the rows, scaled to all."""
    part = data.every(part_stride(data))
    if not part.total_weight > 0.0:
        part = data
    information = tally_information(part, coef, executor)["information"].arrays()["information"]
    answer: FloatArray = data.total_weight / part.total_weight * information
    return answer


def gradient_method(
    data: LogisticData, penalty: LogisticPenalty, kept: BoolArray, executor: Executor
) -> GradientMethod:
    """Step sizes from the bound of the information, its largest eigenvalue by power iteration."""
    level = data.level_states(0.5)
    quarter = executor.reduce(lambda lane: data.tally_diagonal(level, lane), data.slices)["diagonal"]
    # p (1 - p) <= 1/4 for two classes; for K the information is at most half of I - 11'/K.
    mix = np.eye(1)
    if not data.is_binary:
        mix = 2.0 * (np.eye(data.n_outputs) - 1.0 / data.n_classes)
    diagonal = np.where(kept, np.diag(mix)[:, None] * quarter + penalty.diagonal(), 0.0)
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
    root = np.sqrt(inverse)

    def bound(direction: FloatArray) -> FloatArray:
        product = executor.reduce(lambda lane: data.tally_bound(direction, lane), data.slices)["product"]
        answer: FloatArray = mix @ product + penalty.slope(direction)
        return answer

    vector = np.where(root > 0.0, 1.0 + 0.1 * np.cos(np.arange(root.size)).reshape(root.shape), 0.0)
    largest = 1.0
    for _ in range(POWER_STEPS):
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            break
        vector = vector / length
        image = root * bound(root * vector)
        before, largest = largest, float(np.linalg.norm(image))
        vector = image
        if abs(largest - before) <= 1e-3 * largest:
            break
    # Power iteration approaches from below; halving the step mends what this misses.
    return GradientMethod(inverse / (1.05 * largest))
