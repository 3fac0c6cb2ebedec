"""Mixtures over a range of numbers of components: fitted, compared and judged."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from softcount._errors import InputError
from softcount._optional import need
from softcount.core.execute import resolve_n_jobs
from softcount.core.journal import FITTING, NO_JOURNAL
from softcount.estimators.mixture._base import BaseMixture
from softcount.select.advice import advise, single_starts
from softcount.select.bootstrap import BootstrapTest, bootstrap_test
from softcount.select.candidate import CRITERIA, Candidate, candidate_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Candidate", "Selection", "how_many"]


@dataclass(frozen=True)
class Selection:
    """Mixtures of different sizes side by side.

    Attributes
    ----------
    candidates : tuple of Candidate
        The numbers behind the table, by number of components.
    models : dict of int to estimator
        The fitted mixtures.
    criterion : str
        The criterion that decides.
    best : int
        The recommended number of components.
    recommendation : str
        Why, and what speaks against it.
    tests : tuple of BootstrapTest
        Bootstrap tests of every size against the next, if they were asked for.
    """

    candidates: tuple[Candidate, ...]
    models: dict[int, Any] = field(repr=False)
    criterion: str
    best: int
    recommendation: str
    tests: tuple[BootstrapTest, ...] = field(default=(), repr=False)

    @property
    def best_model(self) -> Any:
        """The mixture with the recommended number of components."""
        return self.models[self.best]

    def table(self) -> pd.DataFrame:
        """The comparison, a row per number of components (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        names = [f.name for f in fields(Candidate) if f.name != "notes"]
        rows = [[getattr(candidate, name) for name in names] for candidate in self.candidates]
        return pd.DataFrame(rows, columns=names).set_index("n_components")

    def plot(self, criteria: Sequence[str] = ("aic", "bic", "sabic", "icl"), ax: Axes | None = None) -> Axes:
        """Draw criteria over the number of components (an elbow plot); needs matplotlib.

        Parameters
        ----------
        criteria : sequence of str
            What to draw: names of columns of the table.
        ax : Axes, optional
            Where to draw.
        """
        from softcount.explain.plots.selection import draw_selection

        return draw_selection(self, criteria, ax)

    def __str__(self) -> str:
        heads = (
            "components",
            "log-lik.",
            "param.",
            "AIC",
            "BIC",
            "SABIC",
            "CAIC",
            "ICL",
            "entropy R2",
            "smallest",
            "best",
        )
        rows = [
            (
                str(c.n_components) + (" <" if c.n_components == self.best else ""),
                f"{c.log_likelihood:.2f}",
                str(c.n_parameters),
                *(f"{getattr(c, name):.2f}" for name in CRITERIA),
                f"{c.relative_entropy:.3f}",
                f"{100.0 * c.smallest_share:.1f}%",
                f"{c.n_best}/{c.n_finished}",
            )
            for c in self.candidates
        ]
        widths = [max(len(head), *(len(row[i]) for row in rows)) for i, head in enumerate(heads)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (heads, *rows)
        ]
        tests = [str(test) for test in self.tests]
        return "\n".join([*lines, *([""] if tests else []), *tests, "", self.recommendation])


def how_many(
    estimator: BaseMixture,
    X: Any,
    candidates: Iterable[int] = range(1, 7),
    y: Any = None,
    *,
    sample_weight: Any = None,
    criterion: str = "bic",
    n_bootstrap: int = 0,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Selection:
    """Fit a mixture with different numbers of components and recommend one, with reasons.

    Parameters
    ----------
    estimator : mixture
        What to fit; its ``n_components`` is replaced.
    X : table
        Rows.
    candidates : iterable of int, default=range(1, 7)
        Numbers of components.
    y : array-like, optional
        Labels, as in ``fit``.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row.
    criterion : {"aic", "bic", "sabic", "caic", "icl"}, default="bic"
        The criterion that decides among candidates that are sound.
    n_bootstrap : int, default=0
        Samples of a bootstrap likelihood-ratio test of each candidate against the next.
    random_state : int, Generator, RandomState or None
        Seed of the bootstrap; the fits take the estimator's.
    n_jobs : int, optional
        Threads for the fits (all usable cores by default); where a number is given, that many processes for the
        bootstrap.
    verbose : int, default=0
        1 prints each candidate to standard error when it is fitted, and how the bootstrap proceeds.
    progress : callable, optional
        Called with the number of fits and bootstrap samples done, and of all there will be.

    Returns
    -------
    selection : Selection

    Examples
    --------
    >>> import numpy as np
    >>> from softcount import PoissonMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.poisson(2, (100, 3)), rng.poisson(9, (60, 3))])
    >>> how_many(PoissonMixture(random_state=0), X, range(1, 4)).best
    2
    """
    if criterion not in CRITERIA:
        raise InputError(f"criterion is {criterion!r}; choose one of {', '.join(map(repr, CRITERIA))}.")
    if not isinstance(estimator, BaseMixture):
        raise InputError(f"estimator is {estimator!r}; give a mixture such as LatentClass() or GaussianMixture().")
    sizes = _sizes(candidates)
    if n_bootstrap > 0 and y is not None:
        raise InputError("The bootstrap test is for mixtures without labels; leave y out, or n_bootstrap.")
    counter = _Counter(len(sizes) + n_bootstrap * (len(sizes) - 1), progress, verbose)
    models = _fit_all(estimator, sizes, X, y, sample_weight, n_jobs=n_jobs, counter=counter)
    tests = []
    if n_bootstrap > 0:
        for small, large in pairwise(sizes):
            test = bootstrap_test(
                models[small],
                models[large],
                X,
                sample_weight=sample_weight,
                n_samples=n_bootstrap,
                random_state=random_state,
                n_jobs=1 if n_jobs is None else n_jobs,
                progress=lambda done, total: counter.step(),
            )
            counter.say(str(test))
            tests.append(test)
    p_values = {test.n_components[1]: test.p_value for test in tests}
    found = tuple(candidate_of(models[k], p_values.get(k)) for k in sizes)
    best, words = advise(found, criterion)
    # With labels one start is all there is to try.
    words += single_starts(found) if y is None else ""
    return Selection(found, models, criterion, best, words, tuple(tests))


def _sizes(candidates: Any) -> list[int]:
    """The numbers of components in order, each once."""
    if isinstance(candidates, str) or not isinstance(candidates, Iterable):
        raise InputError(f"candidates is {candidates!r}; give several numbers of components, as range(1, 7).")
    given = list(candidates)
    wrong = [k for k in given if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1]
    if wrong or not given:
        raise InputError(f"candidates is {given}; give whole numbers of components of 1 or more, as range(1, 7).")
    return sorted({int(k) for k in given})


class _Counter:
    """Counts what is done and says so."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None, verbose: int) -> None:
        self.total, self.done = total, 0
        self.progress, self.verbose = progress, verbose

    def step(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)

    def say(self, text: str) -> None:
        if self.verbose > 0:
            sys.stderr.write(f"[how_many] {self.done} of {self.total}: {text}\n")
            sys.stderr.flush()


def _fit_all(
    estimator: BaseMixture,
    sizes: list[int],
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    n_jobs: int | None,
    counter: _Counter,
) -> dict[int, Any]:
    """All sizes, in threads; the largest first, for they take longest."""
    stopped = threading.Event()
    jobs = min(resolve_n_jobs(n_jobs), len(sizes))
    inner = max(1, resolve_n_jobs(n_jobs) // jobs)

    begin = FITTING.get()
    models = {size: clone(estimator).set_params(n_components=size, n_jobs=inner) for size in sizes}
    # Journals are begun here, where their order does not depend on which thread is quicker.
    journals = {} if begin is None else {size: [begin(models[size])] for size in sizes}

    def fit(size: int) -> Any:
        model, own = models[size], journals.get(size)
        FITTING.set(None if own is None else lambda _: own.pop() if own else NO_JOURNAL)
        model._stopped = stopped
        model.fit(X, y, sample_weight=sample_weight)
        del model._stopped
        counter.step()
        counter.say(f"{size} components, log-likelihood {model.log_likelihood_:.4f}")
        return model.set_params(n_jobs=estimator.n_jobs)

    with ThreadPoolExecutor(jobs) as pool:
        futures = {size: pool.submit(fit, size) for size in reversed(sizes)}
        try:
            wait(futures.values(), return_when=FIRST_EXCEPTION)
            for future in futures.values():
                if future.done():
                    future.result()
            return {size: futures[size].result() for size in sizes}
        except BaseException:
            # One number that cannot be fitted, or Ctrl-C: the others would keep everybody waiting for nothing.
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
