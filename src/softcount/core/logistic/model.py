r"""Logistic regression on the one loop: a pass tallies score and information, a method turns them into a step.

The model is the same for every solver; a :class:`LogisticMethod` says what a pass has to tally and where to go from
there. All of them stop on the same quantity, the step that the solver would take next, measured as the root mean square
change of the linear predictor that it brings about,

.. math:: \sqrt{g^\top B^{-1} g \,/\, W}, \qquad W = \sum_i w_i ,

with the solver's own curvature :math:`B`. It does not depend on the units of the columns or of the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from softcount._types import BoolArray, FloatArray
from softcount.core.counts import Counts
from softcount.core.execute import C, Executor
from softcount.core.iterate import Step, Stopping
from softcount.core.journal import Record
from softcount.core.logistic.curved_rows import CurvedRows
from softcount.core.logistic.penalty import LogisticPenalty

__all__ = [
    "LogisticMethod",
    "LogisticModel",
    "LogisticState",
    "LogisticStopping",
    "Slope",
    "Watch",
    "WatchedExecutor",
]

T = TypeVar("T")

# A step halved this often moves nothing any more: the objective has no higher point in its direction.
MAX_HALVINGS = 30
PATIENT_HALVINGS = 8
# What a watch has seen of a run.
SEEN = ("finished", "repeats", "converged", "step", "smallest", "waited")
# Steps below this that no longer shrink are the rounding errors of the score.
ROUNDING_STEP = 1e-6


@dataclass(frozen=True)
class LogisticState:
    """Coefficients of the shifted columns, and what a method carries from step to step.

    Attributes
    ----------
    coef : array of shape (n_outputs, n_columns)
        The intercepts first.
    memory : object
        The method's own.
    halvings : int
        How often the step that led here was halved.
    """

    coef: FloatArray
    memory: Any = None
    halvings: int = 0


@dataclass
class Watch:
    """Tells the loop, which sees objectives alone, when the next step has become negligible.

    Attributes
    ----------
    tol : float
        Largest negligible step (see the module); 0 runs all iterations.
    patience : int
        Steps near rounding that may pass without a new smallest one.
    finished : bool
        Whether the last parameters are the answer.
    repeats : bool
        Whether the next parameters are those the rows were passed over last.
    converged : bool
        Whether that is because the next step was negligible, or lost in rounding.
    step : float
        The last step measured.
    rounding : float
        Steps below this that no longer shrink are rounding errors.
    """

    tol: float
    patience: int = 4
    finished: bool = False
    repeats: bool = False
    converged: bool = False
    step: float = math.inf
    rounding: float = ROUNDING_STEP
    smallest: float = math.inf
    waited: int = 0

    def ends(self, step: float) -> bool:
        """Note the size of the next step; whether it need not be taken."""
        self.step = step
        if step < 0.5 * self.smallest:
            self.smallest, self.waited = step, 0
        else:
            self.waited += 1
        if self.tol <= 0.0:
            return False
        lost = self.waited > self.patience and step < self.rounding
        if step <= self.tol or lost:
            self.finished = self.repeats = self.converged = True
        return self.finished

    def give_up(self) -> None:
        """No step leads higher."""
        self.finished = True
        self.converged = self.step < self.rounding


@dataclass(frozen=True)
class LogisticStopping(Stopping):
    """Stops when the watch says so."""

    watch: Watch = field(default_factory=lambda: Watch(0.0))

    def reached(self, history: Sequence[Step]) -> bool:
        """Whether the next step is negligible."""
        return self.watch.finished

    def memory(self) -> Record:
        """What the watch has seen."""
        return {name: getattr(self.watch, name) for name in SEEN}

    def recall(self, memory: Record) -> None:
        """Let the watch have seen that."""
        for name in SEEN:
            setattr(self.watch, name, memory[name])


class WatchedExecutor:
    """An executor that does not pass over the rows again when the parameters stay as they are."""

    def __init__(self, executor: Executor, watch: Watch) -> None:
        self._executor = executor
        self._watch = watch
        self._last: Any = None

    def reduce(self, tally: Callable[[Sequence[T]], C], chunks: Sequence[T], *, counts_bytes: int = 0) -> C:
        """The executor's counts; the last ones when the watch says that they are those asked for."""
        if not self._watch.repeats or self._last is None:
            self._last = self._executor.reduce(tally, chunks, counts_bytes=counts_bytes)
        last: C = self._last
        return last

    def each(self, task: Callable[[T], None], chunks: Sequence[T]) -> None:
        """As the executor does."""
        self._executor.each(task, chunks)


@dataclass(frozen=True)
class Slope:
    """What a pass says about the point it was made at.

    Attributes
    ----------
    score : array of shape (n_outputs, n_columns)
        Gradient of the log-likelihood, zero for columns left out.
    gradient : array of shape (n_outputs, n_columns)
        The same less the slope of the squared penalty.
    information : array of shape (n_coefficients, n_coefficients) or None
        Of the log-likelihood alone.
    """

    score: FloatArray
    gradient: FloatArray
    information: FloatArray | None


class LogisticMethod(Protocol):
    """Where to go from here."""

    @property
    def needs_information(self) -> bool:
        """Whether passes have to tally the information."""
        ...

    @property
    def patience(self) -> int:
        """See :class:`Watch`."""
        ...

    def advance(self, model: LogisticModel, state: LogisticState, slope: Slope) -> LogisticState | None:
        """The next state, or None when ``model.watch`` says that the step is negligible."""
        ...

    def retreat(self, previous: LogisticState, proposal: LogisticState) -> LogisticState:
        """A shorter step."""
        ...


@dataclass(frozen=True)
class LogisticModel:
    """Rows, penalty and method.

    Attributes
    ----------
    data : CurvedRows
    penalty : LogisticPenalty
    method : LogisticMethod
    kept : bool array of shape (n_columns,)
        Columns that take part; the coefficients of the others stay zero.
    watch : Watch
    """

    data: CurvedRows
    penalty: LogisticPenalty
    method: LogisticMethod
    kept: BoolArray
    watch: Watch

    def tally(self, params: LogisticState, chunks: Sequence[slice]) -> Counts:
        """Log-likelihood, score and, for methods that need it, information of some chunks."""
        if self.method.needs_information:
            return self.data.tally_information(params.coef, chunks)
        return self.data.tally_score(params.coef, chunks)

    def solve(self, counts: Counts, previous: LogisticState | None) -> LogisticState:
        """The method's step from ``previous``, or ``previous`` itself when there is nothing left to gain."""
        assert previous is not None  # a step starts somewhere
        following = self.method.advance(self, previous, self.slope(counts, previous.coef))
        return previous if following is None else following

    def slope(self, counts: Counts, coef: FloatArray) -> Slope:
        """Gradient and information at ``coef``, columns left out blanked."""
        score = np.where(self.kept, counts["score"].arrays()["score"], 0.0)
        information = counts["information"].arrays()["information"] if "information" in counts.parts else None
        return Slope(score, score - self.penalty.slope(coef), information)

    def log_prior(self, params: LogisticState) -> float:
        """Minus the penalty."""
        return self.penalty.log_prior(params.coef)

    def retreat(self, previous: LogisticState, proposal: LogisticState) -> LogisticState | None:
        """A shorter step; after many, none at all."""
        if proposal is previous:
            return None
        if proposal.halvings >= MAX_HALVINGS:
            self.watch.give_up()
            return previous
        return self.method.retreat(previous, proposal)

    def prepared(self, params: LogisticState) -> LogisticState:
        """The parameters themselves."""
        return params

    def lean(self, params: LogisticState, counts: Counts) -> LogisticState:
        """The parameters themselves."""
        return params

    def bare(self, params: LogisticState) -> LogisticState:
        """The parameters themselves."""
        return params

    def counts_bytes(self) -> int:
        """Size of one lane's counts."""
        score = 8 * self.data.n_coefficients
        return score + (self.data.information_bytes() if self.method.needs_information else 0)

    def predictor_change(self, gain: float) -> float:
        """The step's size (see the module) from ``g' B^-1 g``."""
        return math.sqrt(max(gain, 0.0) / self.data.total_weight)

    def expanded(self, mask: BoolArray | None = None) -> BoolArray:
        """``kept`` for every coefficient, flattened."""
        return np.tile(self.kept if mask is None else mask, self.data.n_outputs)


def midpoint(previous: LogisticState, proposal: LogisticState) -> LogisticState:
    """Half the step; after many halvings a sixteenth of it.

    Where large offsets make all rows certain, nothing but rounding is left of the information, and a Newton step is
    longer than it should be by any number of powers of two.
    """
    share = 0.5 if proposal.halvings < PATIENT_HALVINGS else 0.0625
    coef = (1.0 - share) * previous.coef + share * proposal.coef
    return replace(proposal, coef=coef, halvings=proposal.halvings + 1)
