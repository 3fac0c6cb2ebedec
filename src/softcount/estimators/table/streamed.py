"""Tables from files that are not in memory: what columns are is decided on a part of the rows, what they hold on all.

A first pass takes some rows, evenly spaced, and decides what every column is. A second one finds the categories and the
vocabularies, and checks that every cell is what it should be. From then on rows are blocks of numbers, pass after pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcount._errors import InputError
from softcount.core.chunks import Chunk, Chunks, DistantRows, Rows
from softcount.core.execute import Executor
from softcount.core.journal import rows_digest
from softcount.core.mixture import MixtureModel
from softcount.core.sampling import Wanted, draw_rows, gather
from softcount.estimators._choosing import Outcome
from softcount.estimators._columns import ColumnPlan, TablePlan
from softcount.estimators._grid import rows_for
from softcount.estimators.distant.sources import is_cluster, lies_elsewhere, open_source
from softcount.estimators.distant.surveys import BlockSurvey, check_same_columns, like_layout
from softcount.estimators.distant.training import DistantBlocks
from softcount.estimators.table.held_out import held_out_answers
from softcount.estimators.table.settings import MOST_ROWS, Setting, choose_setting
from softcount.estimators.table.text import TextCounter, TextOptions, Vocabulary, counted_rows
from softcount.estimators.table.treatment import FAMILY_OF_ROLE, Treatment, options_for
from softcount.families.blocks import Block, DenseBlock, SparseBlock
from softcount.inputs.batches import Batch, at
from softcount.inputs.cells import MISSING_MARKS
from softcount.inputs.columns import Column, learn_categories
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole

__all__ = [
    "EventChange",
    "TableSurvey",
    "TablesElsewhere",
    "any_known",
    "labeled_part",
    "only_occurrence",
    "some_rows_of_pieces",
]

#: Rows on which is decided what columns are.
DECIDING_ROWS = 20_000
#: The same of one part of a cluster's rows; and rows that are read at a time.
ROWS_PER_PART = 2_000
BATCH_ROWS = 2**14


def some_rows_of_pieces(pieces: Iterable[RawTable], most: int | None = None) -> RawTable:
    """Rows of all pieces, evenly spaced, at most so many; all of them where there are few.

    Parameters
    ----------
    pieces : iterable of RawTable
    most : int, optional
        :data:`DECIDING_ROWS` by default.

    Examples
    --------
    >>> parts = [RawTable({"x": list(range(i, i + 5))}, range(i, i + 5)) for i in (0, 5, 10)]
    >>> some_rows_of_pieces(parts, 8).columns
    {'x': [0, 2, 4, 6, 8, 10, 12, 14]}
    """
    most = DECIDING_ROWS if most is None else most
    taken: RawTable | None = None
    step, start = 1, 0
    for piece in pieces:
        first = -start % step
        part = piece.take(range(first, piece.n_rows, step))
        taken = part if taken is None else _joined(taken, part)
        start += piece.n_rows
        while taken.n_rows > most:
            taken, step = taken.take(range(0, taken.n_rows, 2)), 2 * step
    if taken is None:
        raise InputError("The table has no rows.")
    return taken


def _joined(one: RawTable, other: RawTable) -> RawTable:
    names = list(one.columns)
    if set(other.columns) != set(names):
        check_same_columns((tuple(names), len(names)), (tuple(other.columns), len(other.columns)))
    columns = {name: [*one.columns[name], *other.columns[name]] for name in names}
    return RawTable(columns, [*one.places, *other.places], one.unit)


@dataclass(frozen=True)
class TableSurvey:
    """What some rows of a table say about its columns, once it is known what these are.

    Attributes
    ----------
    names : tuple of str
        Of all columns, those included that nothing is learned from.
    roles : tuple of ColumnRole
    missing_marks : tuple of str
    options : TextOptions
    categories : tuple of set or None
        The values of every column that is no text; None of numbers.
    has_missing : tuple of bool
        Whether a cell of such a column is missing.
    words : tuple of dict
        For every text column, by kind (words, characters), in how many rows each occurs.
    counts : tuple of BlockSurvey
        What the counts of every text column look like.
    """

    names: tuple[str, ...]
    roles: tuple[ColumnRole, ...]
    missing_marks: tuple[str, ...]
    options: TextOptions
    categories: tuple[set[Any] | None, ...]
    has_missing: tuple[bool, ...]
    words: tuple[Mapping[str, Counter[str]], ...]
    counts: tuple[BlockSurvey, ...]

    @classmethod
    def of(
        cls,
        table: RawTable,
        roles: Sequence[ColumnRole],
        missing_marks: Sequence[str],
        options: TextOptions,
    ) -> TableSurvey:
        """Look at some rows."""
        bare = Treatment(tuple(roles), TablePlan(()), (), tuple(missing_marks))
        columns = bare.columns(table)
        words, counts = [], []
        for role in bare.text_roles:
            found, stored = counted_rows(bare.texts(table, role.name), options_for(role, options))
            words.append(found)
            counts.append(stored)
        return cls(
            tuple(table.columns),
            tuple(roles),
            tuple(missing_marks),
            options,
            tuple(set(learn_categories(column)) if column.kind == "category" else None for column in columns),
            tuple(bool(column.missing.any()) for column in columns),
            tuple(words),
            tuple(BlockSurvey(SparseBlock, 0, np.dtype(np.int64), has_missing=False, stored=n) for n in counts),
        )

    def __add__(self, other: TableSurvey) -> TableSurvey:
        check_same_columns((self.names, len(self.names)), (other.names, len(other.names)))
        pairs = zip(self.categories, other.categories, strict=True)
        for mine, theirs in zip(self.words, other.words, strict=True):
            for kind in mine:
                mine[kind].update(theirs[kind])
        return replace(
            self,
            categories=tuple(None if a is None or b is None else a | b for a, b in pairs),
            has_missing=tuple(a or b for a, b in zip(self.has_missing, other.has_missing, strict=True)),
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
        )

    def treatment(self) -> Treatment:
        """How every column is read."""
        bare = Treatment(self.roles, TablePlan(()), (), self.missing_marks)
        plans = []
        for role, values in zip(bare.table_roles, self.categories, strict=True):
            categories = None
            kind = "number"
            if values is not None:
                array = np.empty(len(values), dtype=object)
                array[:] = list(values)
                kind = "category"
                categories = tuple(learn_categories(Column(role.name, kind, array, np.zeros(len(values), dtype=bool))))
            plans.append(ColumnPlan(role.name, FAMILY_OF_ROLE[role.role], role.reason, categories, kind))
        counters = []
        for role, found in zip(bare.text_roles, self.words, strict=True):
            chosen = options_for(role, self.options)
            listed = {kind: _vocabulary(rows, chosen) for kind, rows in found.items()}
            counters.append(TextCounter(chosen, listed.get("words"), listed.get("characters")))
        return replace(bare, plan=TablePlan(tuple(plans)), counters=tuple(counters))

    def layout(self, treatment: Treatment, n_rows: int) -> tuple[tuple[Block, ...], float]:
        """Blocks that show kind, columns and missing cells of all rows, and numbers per row."""
        nothing = RawTable({name: [] for name in self.names}, [])
        blocks: list[Block] = []
        width = 0.0
        position = 0
        for block in treatment.blocks(nothing, 1):
            shown = block
            if isinstance(block, SparseBlock):
                width += self.counts[position].width(n_rows)
                position += 1
            else:
                width += block.n_columns
            if isinstance(block, DenseBlock):
                # A block of numbers with a hole anywhere is treated as one with many.
                shown = replace(block, has_missing=any(self._holes()))
            blocks.append(shown)
        return tuple(blocks), width

    def _holes(self) -> Iterator[bool]:
        """Whether a cell is missing, for every column of numbers."""
        return (lost for lost, values in zip(self.has_missing, self.categories, strict=True) if values is None)


def _vocabulary(rows: Counter[str], options: TextOptions) -> Vocabulary:
    """The words that occur in enough texts, and the commonest if only so many are wanted, sorted."""
    names = sorted(name for name, n in rows.items() if n >= options.min_rows)
    if options.most is not None and len(names) > options.most:
        counts = np.array([rows[name] for name in names])
        kept = np.sort(np.argsort(-counts, kind="stable")[: options.most])
        names = [names[j] for j in kept.tolist()]
    return Vocabulary.of(names)


class TablesElsewhere:
    """What a classifier of tables adds for rows that are not in memory."""

    #: What is settled before batches are read.
    decided = ("roles_",)

    roles_: tuple[ColumnRole, ...]
    treatment_: Treatment
    setting_: Setting

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Any:
        this: Any = self
        if lies_elsewhere(X):
            this._tell("looking at the columns")
            self.roles_ = tuple(this._roles_of(some_rows_of_pieces(_pieces_of(X, y, sample_weight))))
            this._tell("counting words")
        above: Any = super()
        return above._read_training(X, y, sample_weight)

    def _survey_columns(self, X: Any) -> TableSurvey:
        this: Any = self
        marks = MISSING_MARKS if this.missing_marks is None else frozenset(this.missing_marks)
        return TableSurvey.of(RawTable.of(X), self.roles_, sorted(marks), this.text or TextOptions())

    def _settle_columns(self, found: TableSurvey, n_rows: int) -> tuple[tuple[Block, ...], float]:
        this: Any = self
        self.treatment_ = found.treatment()
        this._settle_names(found.names, len(found.names))
        return found.layout(self.treatment_, n_rows)

    def _read_batch(self, X: Any, layout: tuple[Block, ...]) -> tuple[Block, ...]:
        blocks = self.treatment_.blocks(RawTable.of(X), 1)
        return tuple(like_layout(block, shown) for block, shown in zip(blocks, layout, strict=True))

    # ---- fitting
    def _fit_elsewhere(self, blocks: DistantBlocks, classes: NDArray[Any]) -> Outcome:
        """The same for rows that are not in memory; settings are compared on labeled rows that are fetched."""
        this: Any = self
        executor, plan, settings = this._executor(), this._plan(), this._settings()
        self.setting_ = settings[0]
        rows: Any = rows_for(this._make_model(blocks, classes), blocks, None, None)
        plan.journal.bind(lambda: rows_digest(rows))

        def make_model(setting: Setting) -> MixtureModel:
            self.setting_ = setting
            model: MixtureModel = this._make_model(this._as_events(blocks, setting), classes)
            return model

        this._tell("choosing the event model and smoothing")
        scores: dict[Setting, float] = {}
        if len(settings) > 1:
            part = labeled_part(executor, rows, MOST_ROWS)
            self.setting_, scores = choose_setting(
                settings, make_model, this._as_events, executor=executor, chunks=part, plan=plan
            )
        this.setting_scores_ = scores
        model = make_model(self.setting_)
        if self.setting_.event_model != "multinomial":
            rows = rows.mapped(EventChange(only_occurrence))
        outcome, held, name = this._learned_from(model, executor, rows, plan)
        this.evaluation_, _ = held_out_answers(held, name, outcome.calibration, None)
        this.held_out_ = None
        answer: Outcome = outcome
        return answer


def _pieces_of(X: Any, y: Any, weight: Any) -> Iterator[RawTable]:
    """The rows of a source as raw tables; of a cluster some rows of each part."""
    if is_cluster(X):
        from softcount.estimators.distant.cluster import told_by_parts

        yield from told_by_parts(X, y, weight, _some_rows_of_batch)
        return
    for batch in open_source(X, y, weight).batches(BATCH_ROWS):
        with at(batch.where):
            yield RawTable.of(batch.X)


def _some_rows_of_batch(batch: Batch) -> RawTable:
    return some_rows_of_pieces([RawTable.of(batch.X)], ROWS_PER_PART)


def any_known(rows: Rows) -> bool:
    """Whether some row has a label.

    Parameters
    ----------
    rows : Rows
    """
    if isinstance(rows, Chunks):
        return rows.labels is not None and bool((rows.labels.codes >= 0).any())
    labeled = rows.facts.labeled
    return labeled is not None and bool((labeled > 0).any())


@dataclass(frozen=True)
class EventChange:
    """Counts of words as the event model wants them, when a chunk is counted."""

    as_events: Callable[[tuple[Block, ...]], tuple[Block, ...]]

    def __call__(self, chunk: Chunk) -> Chunk:
        """The chunk, changed."""
        return replace(chunk, blocks=self.as_events(chunk.blocks))


def only_occurrence(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Blocks of words that say where a word occurs, not how often."""
    return tuple(replace(b, data=None) if isinstance(b, SparseBlock) else b for b in blocks)


def labeled_part(executor: Executor, rows: DistantRows, most: int) -> Chunks:
    """Rows with a known label in memory, all or so many of them, in their order.

    Parameters
    ----------
    executor, rows
        Who runs the passes, and the rows.
    most : int
    """

    def is_known(chunk: Chunk) -> Any:
        assert chunk.labels is not None  # classifiers have labels
        return chunk.labels.codes >= 0

    draw = draw_rows(executor, rows, {"known": Wanted(is_known, 0, most)})["known"]
    order = np.argsort(draw.row, kind="stable")
    return gather(executor, rows, draw.row[order], draw.weight[order])
