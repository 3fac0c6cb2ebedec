r"""Fitting a logistic regression: which method, from where, for how long, and what it ran into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from softcount._types import BoolArray, FloatArray
from softcount.core.execute import Executor
from softcount.core.iterate import Fit, Step, iterate
from softcount.core.journal import NO_JOURNAL, Journal, once
from softcount.core.logistic.data import LogisticData
from softcount.core.logistic.methods import (
    FEW_ROWS,
    MOST_COEFFICIENTS,
    PART_ROWS_PER_COEFFICIENT,
    SMALLEST_STRIDE,
    Restricted,
    Solver,
    method_for,
    part_stride,
    tally_information,
)
from softcount.core.logistic.model import (
    LogisticModel,
    LogisticState,
    LogisticStopping,
    Watch,
    WatchedExecutor,
)
from softcount.core.logistic.newton import NewtonMethod
from softcount.core.logistic.penalty import LogisticPenalty
from softcount.core.logistic.separation import Separation, find_separation, largest_spread
from softcount.core.logistic.start import (
    column_gram,
    gram_deviation,
    independent_columns,
    null_coef,
)
from softcount.core.logistic.working_set import TooManyColumnsError

__all__ = ["LogisticFit", "LogisticProblem", "Solver", "fit_logistic"]

#: How far a fit to part of the rows goes.
PART_ITERATIONS = 12
PART_TOLERANCE = 1e-2
PART_LARGEST_SPREAD = 30.0
#: Iterations after which separation is looked for.
NEWTON_STAGE = 15
GRADIENT_STAGE = 300
#: A fit without a penalty whose predictors spread this far may be running off to infinity.
SUSPICIOUS_SPREAD = 12.0
#: With more coefficients than a matrix has room for, thousands of passes of this size still take seconds.
FEW_PRODUCTS = 1_000_000
#: Prior standard deviation, per standard deviation of a column, of the answer for separated classes.
SEPARATED_PRIOR = 10.0


@dataclass(frozen=True)
class LogisticProblem:
    """Everything a fit starts from.

    Attributes
    ----------
    data : LogisticData
    penalty : LogisticPenalty
    solver : str
        See :class:`softcount.LogisticRegression`.
    max_iter : int
    tol : float
    start : array of shape (n_outputs, n_columns) or None
        Coefficients of the shifted columns to start from.
    certify : bool
        Whether a quasi-Newton fit ends with a look at the whole information: it says how far the optimum really is, and
        standard errors need it anyway. Gradient ascent, which knows no curvature, always does.
    on_step : callable or None
        Called after every iteration.
    journal : Journal
        Where the fit is written down.
    """

    data: LogisticData
    penalty: LogisticPenalty
    solver: Solver = "auto"
    max_iter: int = 10_000
    tol: float = 1e-8
    start: FloatArray | None = None
    certify: bool = False
    on_step: Callable[[Step, LogisticState], None] | None = None
    journal: Journal = NO_JOURNAL


@dataclass
class LogisticFit:
    """What a fit found.

    Attributes
    ----------
    coef : array of shape (n_outputs, n_columns)
        Of the shifted columns.
    penalty : LogisticPenalty
        The one asked for, or the one that separated classes called for.
    kept : bool array of shape (n_columns,)
        Columns that are no combinations of others.
    solver : str
        The method that was used.
    history : list of Step
    converged : bool
    interrupted : bool
    step : float
        The last step measured (see :mod:`softcount.core.logistic.model`).
    log_likelihood : float
    information : array of shape (n_coefficients, n_coefficients) or None
        Of the log-likelihood, at ``coef``, where the last pass tallied it.
    separation : Separation or None
    """

    coef: FloatArray
    penalty: LogisticPenalty
    kept: BoolArray
    solver: Solver
    history: list[Step] = field(default_factory=list)
    converged: bool = False
    interrupted: bool = False
    step: float = np.inf
    log_likelihood: float = np.nan
    information: FloatArray | None = None
    separation: Separation | None = None

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history) - 1


def fit_logistic(problem: LogisticProblem, executor: Executor) -> LogisticFit:
    """Fit by the one loop; the answer is the optimum of the whole problem whatever the method."""
    data, penalty = problem.data, problem.penalty
    problem.journal.bind(data.digest)
    solver = choose_solver(problem)
    kept = np.ones(data.n_columns, dtype=np.bool_)
    free = penalty.unpenalized(fit_intercept=data.design.fit_intercept)
    if free.any() and data.n_columns <= MOST_COEFFICIENTS:
        kept = _settle_columns(data, penalty, executor)
    start = problem.start
    if start is None:
        start = once(problem.journal.part("start"), lambda: _start(problem, solver, kept, executor))
    fit = LogisticFit(np.where(kept, start, 0.0), penalty, kept, solver)
    try:
        _run(problem, fit, executor, may_separate=bool(free[kept[int(data.design.fit_intercept) :]].any()))
    except TooManyColumnsError:
        fit.solver = "gradient"
        _run(problem, fit, executor, may_separate=False)
    if not (data.is_binary or data.reference):
        fit.coef = _canonical(fit.coef, penalty, fit_intercept=data.design.fit_intercept)
    return fit


def _canonical(coef: FloatArray, penalty: LogisticPenalty, *, fit_intercept: bool) -> FloatArray:
    """Of all coefficients that give the same probabilities and penalty, those closest to zero.

    Adding a number to a column of coefficients, one per class, changes no probability. Nothing holds an intercept in
    place; absolute values alone hold a column between its two middle coefficients.
    """
    first = int(fit_intercept)
    ranked = np.sort(coef, axis=0)
    middle = coef.shape[0] // 2
    low, high = (ranked[middle - 1], ranked[middle]) if coef.shape[0] % 2 == 0 else (ranked[middle], ranked[middle])
    shift = np.where(penalty.l2 > 0.0, 0.0, np.clip(coef.mean(axis=0), low, high))
    shift[:first] = coef[:, :first].mean(axis=0)
    # Exact zeros stay exact.
    return np.where(shift == 0.0, coef, coef - shift)


def choose_solver(problem: LogisticProblem) -> Solver:
    """The solver that ``"auto"`` stands for; others stand for themselves."""
    data = problem.data
    if data.is_distant:
        return _distant_solver(problem)
    if problem.solver != "auto":
        return problem.solver
    if problem.penalty.has_l1:
        cheap_passes = data.n_coefficients > MOST_COEFFICIENTS and data.n_products <= FEW_PRODUCTS
        return "gradient" if cheap_passes else "newton"
    if data.n_coefficients > MOST_COEFFICIENTS:
        return "newton-cg"
    wanted = max(FEW_ROWS, SMALLEST_STRIDE * PART_ROWS_PER_COEFFICIENT * data.n_coefficients)
    return "newton" if data.n_samples < wanted else "lbfgs"


def _distant_solver(problem: LogisticProblem) -> Solver:
    """The solver for rows that are not in memory: the one that reads them the fewest times."""
    is_wide = problem.data.n_coefficients > MOST_COEFFICIENTS
    if problem.penalty.has_l1 and is_wide:
        return "gradient"
    if problem.solver in ("gradient", "newton-cg", "irls") and not (problem.solver == "irls" and is_wide):
        return problem.solver
    return "newton-cg" if is_wide else "newton"


def _start(problem: LogisticProblem, solver: Solver, kept: BoolArray, executor: Executor) -> FloatArray:
    """The optimum of a part of the rows where rows are plenty, else the model without columns."""
    data = problem.data
    plain = null_coef(data)
    stride = part_stride(data)
    if solver == "gradient" or data.n_coefficients > MOST_COEFFICIENTS or stride == 1:
        return plain
    part = data.every(stride)
    if not (part.total_weight > 0.0 and np.all(part.class_weights() > 0.0)):
        return plain
    share = part.total_weight / data.total_weight
    penalty = problem.penalty.scaled(share)
    smaller = LogisticProblem(part, penalty, "newton", tol=PART_TOLERANCE)
    first = _start(smaller, "newton", kept, executor)
    watch = Watch(PART_TOLERANCE)
    model = LogisticModel(part, penalty, NewtonMethod(), kept, watch)
    stopping = LogisticStopping(PART_ITERATIONS, watch=watch)
    found = iterate(
        model, WatchedExecutor(executor, watch), part.slices, LogisticState(np.where(kept, first, 0.0)), stopping
    )
    if not watch.converged or largest_spread(part, found.params.coef, executor) > PART_LARGEST_SPREAD:
        return plain
    return found.params.coef


def _settle_columns(data: LogisticData, penalty: LogisticPenalty, executor: Executor) -> BoolArray:
    """Leave out unpenalized columns that are combinations of those before them."""
    stride = part_stride(data)
    part = data.every(stride)
    kept = independent_columns(part.design, column_gram(part, executor), penalty)
    if stride == 1 or kept.all():  # columns that are independent in some rows are so in all
        return kept
    return independent_columns(data.design, column_gram(data, executor), penalty)


def _run(problem: LogisticProblem, fit: LogisticFit, executor: Executor, *, may_separate: bool) -> None:
    """Run the method in stages until it has converged or the iterations are used up."""
    tol, solver = problem.tol, fit.solver
    if solver == "gradient" and problem.data.n_coefficients > MOST_COEFFICIENTS:
        tol *= 0.1  # its steps understate the distance, and no matrix can tell by how much
    fit.history = []
    for stage in count():
        method, length = method_for(
            problem.data,
            fit.penalty,
            fit.kept,
            fit.coef,
            solver=solver,
            executor=executor,
            restricted=_restricted(problem, executor),
        )
        left = problem.max_iter - max(fit.n_iter, 0)
        if may_separate and problem.tol > 0.0:
            length = min(length, GRADIENT_STAGE if solver == "gradient" else NEWTON_STAGE)
        watch = Watch(tol, method.patience)
        model = LogisticModel(problem.data, fit.penalty, method, fit.kept, watch)
        stopping = LogisticStopping(min(length, left), watch=watch)
        found = iterate(
            model,
            WatchedExecutor(executor, watch),
            problem.data.slices,
            LogisticState(fit.coef),
            stopping,
            on_step=problem.on_step,
            journal=problem.journal.part(f"{solver} {stage}"),
        )
        _note(fit, found, model)
        if found.interrupted:
            return
        done = watch.finished or fit.n_iter >= problem.max_iter
        if may_separate and (done or length <= GRADIENT_STAGE):
            if _is_suspicious(problem, fit, executor) and _answer_separation(problem, fit, executor):
                return
            may_separate = not done and solver != "gradient"
        first_order = solver == "gradient" or (solver == "lbfgs" and problem.certify)
        if watch.converged and first_order and fit.n_iter < problem.max_iter:
            true_step = _newton_step(problem, fit, executor)
            fit.step = true_step
            if true_step > problem.tol:
                if tol > 1e-3 * problem.tol:
                    tol *= max(0.3 * problem.tol / true_step, 1e-2)
                    continue
                # First-order steps do not see the direction that is left; the curvature at hand does.
                tol, solver = problem.tol, "newton"
                continue
        if done:
            return


def _note(fit: LogisticFit, found: Fit[LogisticState], model: LogisticModel) -> None:
    """Take over parameters and history of a stage; the iteration that found nothing left to do does not count."""
    watch = model.watch
    steps = list(found.history)
    if watch.finished and len(steps) > 1:
        steps = steps[:-1]
    if fit.history:
        seconds = fit.history[-1].seconds
        before = fit.n_iter
        steps = [s._replace(iteration=s.iteration + before, seconds=s.seconds + seconds) for s in steps[1:]]
    fit.history.extend(steps)
    fit.coef = found.params.coef
    fit.converged = watch.converged
    fit.interrupted = found.interrupted
    fit.step = watch.step
    fit.log_likelihood = found.counts.objective
    fit.information = model.slope(found.counts, fit.coef).information


def _restricted(problem: LogisticProblem, executor: Executor) -> Restricted:
    """How to fit the same problem with some of its columns."""

    def solve(data: LogisticData, penalty: LogisticPenalty, coef: FloatArray) -> FloatArray:
        part = LogisticProblem(data, penalty, "newton", problem.max_iter, 0.1 * problem.tol, coef)
        return fit_logistic(part, executor).coef

    return solve


def _newton_step(problem: LogisticProblem, fit: LogisticFit, executor: Executor) -> float:
    """The size of the Newton step from where the fit ended: what first-order steps cannot tell."""
    data = problem.data
    if data.n_coefficients > MOST_COEFFICIENTS:
        return fit.step
    watch = Watch(0.0)
    model = LogisticModel(data, fit.penalty, NewtonMethod(), fit.kept, watch)
    counts = tally_information(data, fit.coef, executor)
    fit.information = counts["information"].arrays()["information"]
    model.solve(counts, LogisticState(fit.coef))
    return watch.step


def _is_suspicious(problem: LogisticProblem, fit: LogisticFit, executor: Executor) -> bool:
    """Whether the coefficients may be on their way to infinity."""
    if not fit.converged:
        return True
    return largest_spread(problem.data, fit.coef, executor) > SUSPICIOUS_SPREAD


def _answer_separation(problem: LogisticProblem, fit: LogisticFit, executor: Executor) -> bool:
    """If the classes are separated, fit with a weak prior instead; whether they are."""
    data = problem.data
    if data.n_columns <= MOST_COEFFICIENTS:
        gram = column_gram(data, executor)
        deviation = gram_deviation(gram, fit_intercept=data.design.fit_intercept)
    else:
        half = data.level_states(0.5)
        squares = executor.reduce(lambda lane: data.tally_diagonal(half, lane), data.slices)["diagonal"]
        deviation = np.sqrt(4.0 * squares.max(axis=0) / data.total_weight)
    separation = find_separation(data, fit.coef, fit.kept, deviation, executor)
    if separation is None:
        return False
    first = int(data.design.fit_intercept)
    spread = np.where(deviation > 0.0, deviation, 1.0)
    weak = np.where(fit.penalty.l2 > 0.0, fit.penalty.l2, (spread / SEPARATED_PRIOR) ** 2)
    weak[:first] = 0.0
    penalty = replace(fit.penalty, l2=weak)
    journal = problem.journal.part("separated")
    answer = fit_logistic(replace(problem, penalty=penalty, solver=fit.solver, start=None, journal=journal), executor)
    for name in ("coef", "penalty", "history", "converged", "interrupted", "step", "log_likelihood", "information"):
        setattr(fit, name, getattr(answer, name))
    fit.separation = separation
    return True
