"""What a mixture refuses before it looks at any row, and what it says about the rows afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount.core.learn import Learned
from softcount.estimators._annealing import check_annealing
from softcount.estimators._parameters import check_number
from softcount.families.blocks import Block, CodesBlock, DenseBlock

__all__ = ["check_search", "data_notes"]

START_NAMES = ("k-means++", "kmeans", "random", "random_from_data", "uniform", "labeled")


def check_search(estimator: Any) -> None:
    """Refuse parameters of the search that no fit can use."""
    check_number("n_components", estimator.n_components, 1, whole=True)
    check_number("max_iter", estimator.max_iter, 0, whole=True)
    check_number("tol", estimator.tol, 0.0)
    check_number("class_alpha", estimator.class_alpha, 0.0)
    check_number("unlabeled_weight", estimator.unlabeled_weight, 0.0)
    check_number("n_init", estimator.n_init, 1, whole=True)
    if estimator.n_final is not None:
        check_number("n_final", estimator.n_final, 1, whole=True)
    init = getattr(estimator, "init", None)
    if isinstance(init, str) and init not in START_NAMES:
        raise InputError(
            f"init is {init!r}; choose one of {', '.join(map(repr, START_NAMES))}, or give responsibilities, a "
            "component for each row, or a fitted estimator of the same kind."
        )
    check_annealing(estimator.annealing)
    merge = estimator.merge_rows
    if merge is not None and not isinstance(merge, bool | np.bool_):
        raise InputError(f"merge_rows is {merge!r}; use True, False, or None to merge equal rows where it pays.")
    cold = [t for t in (estimator.annealing or ()) if not t > 1.0]
    if cold:
        raise InputError(f"annealing has the temperatures {cold}; temperatures are above 1, from hot to cold.")


def data_notes(learned: Learned, blocks: Sequence[Block], names: Sequence[str], log_likelihood: float) -> list[str]:
    """What the rows lack: values in a column, different rows, or any probability."""
    notes, start = [], 0
    silent: list[str] = []
    for block in blocks:
        if block.n_rows == 0:  # the layout of rows that are not in memory
            pass
        elif isinstance(block, CodesBlock):
            silent += [names[start + int(j)] for j in np.flatnonzero((block.codes < 0).all(axis=0))]
        elif isinstance(block, DenseBlock) and block.missing is not None:
            silent += [names[start + int(j)] for j in np.flatnonzero(block.missing.all(axis=0))]
        start += block.n_columns
    if silent:
        shown = ", ".join(map(repr, silent[:10]))
        notes.append(f"{shown} {'have' if len(silent) > 1 else 'has'} no value in any row and no say in the result")
    n_components, n_patterns = learned.model.n_components, learned.n_patterns
    if n_patterns is not None and n_patterns < n_components:
        found = "is 1 different row" if n_patterns == 1 else f"are {n_patterns} different rows"
        notes.append(
            f"there {found} for {n_components} components, so some components are copies of others. Use fewer "
            "components"
        )
    if log_likelihood == -np.inf:
        notes.append(
            "the log-likelihood is minus infinity, because rows are impossible under every component (numbers that are "
            "no whole counts, for example), so criteria cannot be compared"
        )
    return notes
