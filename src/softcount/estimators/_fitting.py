"""A fit as one event: all of its attributes or none, and a journal of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from softcount._errors import InputError
from softcount.core.journal import CURRENT, FITTING, NO_JOURNAL, Journal, settled_seed

__all__ = ["current_journal", "journal_and_seed", "journal_and_state", "one_fit", "seed_of"]


@contextmanager
def one_fit(estimator: Any) -> Iterator[None]:
    """Whatever ends the block early, Ctrl-C included, leaves the estimator as it was.

    Inside :func:`softcount.checkpoints` the fit also gets a journal. A ``fit`` that calls that of its base class is one
    event.

    Parameters
    ----------
    estimator : estimator
    """
    owner, _ = CURRENT.get()
    if owner is estimator:
        yield
        return
    before = dict(vars(estimator))
    begin = FITTING.get()
    token = CURRENT.set((estimator, NO_JOURNAL if begin is None else begin(estimator)))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    finally:
        CURRENT.reset(token)


def current_journal(estimator: Any) -> Journal:
    """The journal of the fit that this estimator is making.

    Parameters
    ----------
    estimator : estimator
    """
    owner, journal = CURRENT.get()
    return journal if owner is estimator else NO_JOURNAL


def journal_and_state(estimator: Any) -> tuple[Journal, Any]:
    """The journal of the fit that this estimator is making, and its ``random_state`` as the fit was begun with.

    Parameters
    ----------
    estimator : estimator
    """
    journal = current_journal(estimator)
    return journal, settled_seed(journal.part("seed"), estimator.random_state)


def journal_and_seed(estimator: Any) -> dict[str, Any]:
    """The journal of the fit that this estimator is making, and its seed: keywords of a plan.

    Parameters
    ----------
    estimator : estimator
    """
    journal, random_state = journal_and_state(estimator)
    return {"journal": journal, "seed": seed_of(random_state)}


def seed_of(random_state: Any) -> Any:
    """A seed for NumPy's generator from scikit-learn's kinds of ``random_state``."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    try:
        if isinstance(random_state, (int, np.integer)):
            np.random.SeedSequence(int(random_state))
            return int(random_state)
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(
            f"random_state is {random_state!r}; give a whole number of 0 or more, a Generator, a RandomState or None."
        ) from error
