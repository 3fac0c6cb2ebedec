"""What the candidates say of the rows of one fold, or of several folds whose models stand side by side.

Both kinds of group are used alike: :meth:`begin` fits the candidates that need no EM over all rows, without the rows
held out, and scores these rows; :meth:`go_on` takes EM some passes further from there; :meth:`of_em` scores the rows
held out under it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import Any, Protocol

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.core.candidates import FULL, MARGINALS, NONE, Candidates, passes_of_em
from softcount.core.chunks import Chunk, Chunks
from softcount.core.counts import Counts
from softcount.core.crossfit import finite_log_posterior
from softcount.core.iterate import Stopping
from softcount.core.journal import Journal
from softcount.core.learn import Plan, from_counts
from softcount.core.mixture import MixtureModel, MixtureParams
from softcount.core.side_by_side import LeftOut, SideBySide, counts_of, joined_counts
from softcount.inputs.labels import Labels

__all__ = ["FoldGroup", "FoldsTogether", "OneFold"]

#: Rows held out that are scored together under the models of several folds.
ROWS_AT_ONCE = 1024


class FoldGroup(Protocol):
    """Some folds.

    Attributes
    ----------
    held : list of integer arrays
        The rows each fold holds out, by their places among the labeled rows.
    params : MixtureParams or None
        Where EM is.
    """

    held: list[IntArray]
    params: MixtureParams | None

    def begin(self, names: tuple[str, ...], n_passes: int, journal: Journal) -> dict[str, FloatArray]:
        """Log-posteriors of the rows held out under the candidates ``names`` but EM, which is put at its start.

        Where labels leave a choice, a candidate takes some passes over the labeled rows.
        """
        ...

    def go_on(self, n_passes: int, journal: Journal) -> None:
        """Take EM some passes further."""
        ...

    def of_em(self) -> FloatArray:
        """Log-posteriors of the rows held out under EM."""
        ...


class OneFold:
    """A fold by itself.

    Parameters
    ----------
    candidates : Candidates
    held : integer array
        The rows held out.
    """

    def __init__(self, candidates: Candidates, held: IntArray) -> None:
        self.candidates = candidates
        self.held = [held]
        self.params: MixtureParams | None = None

    def begin(self, names: tuple[str, ...], n_passes: int, journal: Journal) -> dict[str, FloatArray]:
        """They are scored as soon as they are fitted, so that their tables need not be kept."""
        candidates, held = self.candidates, self.held[0]
        blocks, plan = candidates.held_blocks(held), self._plan(n_passes, journal.part("0"))
        scores: dict[str, FloatArray] = {}
        for name in names:
            if name == FULL:
                continue
            fit = candidates.fit(name, plan, held).fit
            if fit.interrupted:
                raise KeyboardInterrupt
            params = fit.params
            # Its counts are not needed any more.
            del fit
            scores[name] = candidates.log_posterior(params, blocks)
            if name == MARGINALS:
                self.params = _row_by_row(candidates.informed, params)
            del params
        return scores

    def go_on(self, n_passes: int, journal: Journal) -> None:
        """A cold start that knows nothing of the labels held out."""
        start, self.params = self.params, None
        assert start is not None
        given = [start]
        del start
        self.params = self.candidates.few_passes(given, n_passes, self.held[0], journal.part(FULL))

    def of_em(self) -> FloatArray:
        """Under the parameters as they are."""
        assert self.params is not None
        return self.candidates.log_posterior(self.params, self.candidates.held_blocks(self.held[0]))

    def _plan(self, n_passes: int, journal: Journal) -> Plan:
        plan = self.candidates.plan
        init = plan.init if isinstance(plan.init, str) else None
        stopping = Stopping(n_passes, plan.stopping.tol)
        return replace(plan, init=init, stopping=stopping, on_step=None, n_init=1, annealing=(), journal=journal)


class FoldsTogether:
    """Several folds, where every label is known: a pass reads the rows once for all of them.

    The labeled rows are counted once as well, by fold and class; what a fold learns from are the counts of the others.

    Parameters
    ----------
    candidates : Candidates
    held : list of integer arrays
        The rows each fold holds out.
    """

    def __init__(self, candidates: Candidates, held: list[IntArray]) -> None:
        self.candidates = candidates
        self.held = held
        self.params: MixtureParams | None = None
        left_out = LeftOut.of([candidates.labeled[part] for part in held])
        self._wide = SideBySide.of(candidates.informed, len(held), left_out)

    def begin(self, names: tuple[str, ...], n_passes: int, journal: Journal) -> dict[str, FloatArray]:
        """Closed forms, all of them."""
        plain = self._closed_forms(NONE)
        scores = {NONE: self._scores(plain)}
        del plain
        self.params = self._closed_forms(MARGINALS)
        return scores | {MARGINALS: self._scores(self.params)}

    def go_on(self, n_passes: int, journal: Journal) -> None:
        """Each run is what it would be alone."""
        start, self.params = self.params, None
        assert start is not None
        given = [start]
        del start
        candidates = self.candidates
        self.params = passes_of_em(
            self._wide,
            candidates.executor,
            candidates.rows,
            given,
            n_passes=n_passes,
            journal=journal.part(FULL),
        )

    def of_em(self) -> FloatArray:
        """Under the parameters as they are."""
        assert self.params is not None
        return self._scores(self.params)

    def _closed_forms(self, name: str) -> MixtureParams:
        """A candidate's parameters in each fold, side by side."""
        model, told = self.candidates.setting(name)
        # Kernels read tables row by row, and what is solved for lies in memory as the counts do.
        counts = joined_counts([self._counts_by_fold(model, told)])
        wide = SideBySide.of(model, len(self.held), LeftOut.of(()))
        if any(family.needs_anchor(prior) for family, prior in zip(model.families, model.priors, strict=True)):
            # The prior takes its place from the counts, in every fold from its own.
            own = np.arange(wide.n_components).reshape(wide.n_runs, model.n_classes)
            return wide.joined([from_counts(model, counts_of(counts, classes))[1] for classes in own])
        return wide.solve(counts)

    def _counts_by_fold(self, model: Any, told: Any) -> Counts:
        """Counts of the labeled rows that each fold learns from: those of all parts of the rows but its own."""
        size, n_parts = model.n_classes, len(self.held) + 1
        every = np.arange(size * n_parts)
        parted = replace(model, groups=every, n_classes=every.size, table_bytes=model.table_bytes * n_parts)
        place = LeftOut.of([self.candidates.place[part] for part in self.held])
        counts = self.candidates.executor.reduce(
            parted.tally_known, _parted(told, place, size, n_parts), counts_bytes=parted.counts_bytes()
        )
        # For all folds together: the first part after each fold's own, then the second after it, and so on.
        parts = every.reshape(n_parts, size)
        others = (np.arange(1, n_parts) + np.arange(1, n_parts)[:, None]) % n_parts
        return reduce(Counts.absorb, (counts_of(counts, parts[part].ravel()) for part in others))

    def _scores(self, params: MixtureParams) -> FloatArray:
        """Log-posteriors of the rows held out, each under the model of its own fold."""
        model, n_runs = self._wide, len(self.held)
        rows = np.concatenate(self.held)
        run = np.repeat(np.arange(n_runs), [part.size for part in self.held])
        log_prior = params.log_weights.reshape(n_runs, model.n_classes)
        found = np.empty((rows.size, model.n_classes))
        for start in range(0, rows.size, ROWS_AT_ONCE):
            few = slice(start, start + ROWS_AT_ONCE)
            blocks, own = self.candidates.held_blocks(rows[few]), run[few]
            joint = model.log_joint(params, Chunk(0, 0, blocks, None, None, own.size))
            joint = joint.reshape(own.size, n_runs, model.n_classes)[np.arange(own.size), own]
            found[few] = finite_log_posterior(joint, log_prior[own])
        return found


def _row_by_row(model: MixtureModel, params: MixtureParams) -> MixtureParams:
    """The same parameters as kernels read them: tables that lie otherwise would be there twice while EM runs."""
    blocks = tuple({name: np.ascontiguousarray(array) for name, array in block.items()} for block in params.blocks)
    return model.make_params(params.log_weights, blocks)


def _parted(told: Any, place: LeftOut, n_classes: int, n_parts: int) -> Any:
    """The rows with their part in place of their class: the rows that are never held out, then fold after fold."""
    if isinstance(told, Chunks):
        assert told.labels is not None
        labels = _part_codes(told.labels, place[0 : told.n_rows], n_classes, n_parts)
        return told.like(told.blocks, labels, told.weight)
    return told.mapped(partial(_parted_chunk, place=place, n_classes=n_classes, n_parts=n_parts))


def _parted_chunk(chunk: Chunk, place: LeftOut, n_classes: int, n_parts: int) -> Chunk:
    assert chunk.labels is not None
    fold = place[chunk.start : chunk.start + chunk.n_rows]
    return replace(chunk, labels=_part_codes(chunk.labels, fold, n_classes, n_parts))


def _part_codes(labels: Labels, fold: IntArray, n_classes: int, n_parts: int) -> Labels:
    codes = np.where(labels.codes >= 0, labels.codes + n_classes * (fold + 1), -1).astype(np.int32)
    return Labels(codes, n_classes * n_parts)
