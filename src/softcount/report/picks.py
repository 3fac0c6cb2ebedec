"""Rows worth a look: those the model is least sure of, those whose labels look wrong, those to label next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.estimators.table.answers import DOUBT, Answers, answers_of
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole
from softcount.report.data import LIMITS, Cell, Row, Rows
from softcount.report.wording import shown

__all__ = ["NextRows", "RowPicker", "merge_rows", "pick_next"]

#: Rows without a label that are looked at for what to label next; of more, a random part.
MOST_SEARCHED = 10_000
#: Rows that are proposed for labeling, and how they are made up.
N_UNCERTAIN, N_RANDOM, N_RARE = 14, 6, 4
#: A class with fewer labels than this, or than this share of an equal part, is rare.
FEW_LABELS, SMALL_PART = 10, 0.25
#: Rare classes that get rows of their own.
MOST_RARE = 4
#: The predicted class leads by less than this in a row that is called uncertain.
SMALL_LEAD = 0.8


@dataclass(frozen=True)
class RowPicker:
    """Turns places in a table into rows for a report.

    Attributes
    ----------
    names : sequence of str
        The classes.
    roles : sequence of ColumnRole
        What the columns are: texts are shown first, then identifiers.
    telling : sequence of str
        Names of columns, those that tell the classes apart best first; they are shown next.
    """

    names: Sequence[str]
    roles: Sequence[ColumnRole]
    telling: Sequence[str] = ()

    def row(self, table: RawTable, answers: Answers, place: int, reason: str = "") -> Row:
        """One row of a table with the answer about it."""
        number, code = int(answers.rows[place]), int(answers.codes[place])
        return Row(
            where=shown(table.where(number), LIMITS.name),
            cells=tuple(
                Cell(shown(name, LIMITS.name), shown("" if cell is None else cell, LIMITS.cell))
                for name, cell in ((name, table.columns[name][number]) for name in self._shown_columns(table))
            ),
            label=None if code < 0 else self._name(code),
            predicted=self._name(int(answers.predicted[place])),
            probability=float(answers.probability[place]),
            second=self._name(int(answers.second[place])),
            second_probability=float(answers.second_probability[place]),
            label_probability=None if code < 0 else float(answers.label_probability[place]),
            reason=shown(reason, LIMITS.sentence),
        )

    def least_sure(self, table: RawTable, answers: Answers) -> Rows:
        """The rows whose two most probable classes are closest."""
        order = answers.least_sure()
        lead = answers.probability - answers.second_probability
        order = order[lead[order] < SMALL_LEAD]
        rows = tuple(self.row(table, answers, int(p)) for p in order[: LIMITS.least_sure])
        return Rows(rows, int(order.size), len(answers), len(answers))

    def suspects(self, table: RawTable, answers: Answers, n_labeled: int) -> Rows:
        """The rows whose label has a probability below one in ten by an answer that did not know it."""
        order = answers.suspects(DOUBT)
        rows = tuple(self.row(table, answers, int(p)) for p in order[: LIMITS.suspects])
        return Rows(rows, int(order.size), len(answers), n_labeled, answers.n_expected_suspects)

    def _name(self, code: int) -> str:
        return shown(self.names[code], LIMITS.name)

    def _shown_columns(self, table: RawTable) -> list[str]:
        rank = {name: place for place, name in enumerate(self.telling)}
        kinds = {"text": -2, "id": -1}
        known = [role for role in self.roles if role.name in table.columns and (role.is_learned or role.role == "id")]
        known.sort(key=lambda role: kinds.get(role.role, rank.get(role.name, len(rank))))
        return [role.name for role in known[: LIMITS.cells]]


def merge_rows(parts: Iterable[Rows], most: int, key: Callable[[Row], float]) -> Rows:
    """Rows picked from several pieces of a table, as if they had been picked from the whole.

    Parameters
    ----------
    parts : iterable of Rows
    most : int
        How many rows to keep.
    key : callable
        What the rows are sorted by, ascending.
    """
    parts = list(parts)
    rows = sorted((row for part in parts for row in part.rows), key=key)
    expected = [part.n_expected for part in parts if part.n_expected is not None]
    return Rows(
        tuple(rows[:most]),
        sum(part.n_found for part in parts),
        sum(part.n_searched for part in parts),
        sum(part.n_all for part in parts),
        sum(expected) if expected else None,
    )


@dataclass(frozen=True)
class NextRows:
    """What to label next, and the shares of the classes among the predictions that were made for that."""

    rows: Rows
    shares: FloatArray


def pick_next(
    predict: Callable[[IntArray], FloatArray],
    table: RawTable,
    unlabeled: IntArray,
    picker: RowPicker,
    *,
    n_labels: Sequence[int],
    seed: int,
) -> NextRows | None:
    """Rows whose labels would help: uncertain ones, random ones, and likely members of rare classes.

    Parameters
    ----------
    predict : callable
        Class probabilities of the rows with these places in the table.
    table : RawTable
    unlabeled : array
        The rows without a label.
    picker : RowPicker
    n_labels : sequence of int
        Labels per class.
    seed : int
        Of the random choices.
    """
    if unlabeled.size == 0:
        return None
    rng = np.random.default_rng(seed)
    looked_at = unlabeled
    if unlabeled.size > MOST_SEARCHED:
        looked_at = np.sort(rng.choice(unlabeled, MOST_SEARCHED, replace=False))
    posterior = predict(looked_at)
    answers = answers_of(posterior, looked_at)
    shares = np.bincount(answers.predicted, minlength=len(n_labels)) / len(answers)
    seen: set[Any] = set()
    chosen: list[Row] = []
    for places, most, reason in _proposals(answers, posterior, picker, n_labels, rng):
        taken = 0
        for place in places:
            if taken == most:
                break
            row = picker.row(table, answers, int(place), reason(int(place)))
            # Labeling one of two equal rows is enough.
            if (row.cells, row.predicted) not in seen:
                seen.add((row.cells, row.predicted))
                chosen.append(row)
                taken += 1
    return NextRows(Rows(tuple(chosen[: LIMITS.next]), len(chosen), len(answers), int(unlabeled.size)), shares)


_Proposal = tuple[IntArray, int, Callable[[int], str]]


def _proposals(
    answers: Answers, posterior: FloatArray, picker: RowPicker, n_labels: Sequence[int], rng: np.random.Generator
) -> Iterator[_Proposal]:
    def name(code: int) -> str:
        return shown(picker.names[code], 40)

    def uncertain(place: int) -> str:
        first, second = name(int(answers.predicted[place])), name(int(answers.second[place]))
        return (
            f"Uncertain: {first!r} {answers.probability[place]:.2f} or {second!r} "
            f"{answers.second_probability[place]:.2f}; its label moves the boundary between them."
        )

    order = answers.least_sure()
    lead = answers.probability - answers.second_probability
    yield order[lead[order] < SMALL_LEAD], N_UNCERTAIN, uncertain
    for code in _rare_classes(n_labels):
        by_probability = np.argsort(-posterior[:, code], kind="stable")
        likely = by_probability[posterior[by_probability, code] > 1.0 / len(n_labels)]
        labels = f"{n_labels[code]:,} label{'' if n_labels[code] == 1 else 's'}"

        def rare(place: int, code: int = code, labels: str = labels) -> str:
            return f"Rare class: perhaps {name(code)!r} ({posterior[place, code]:.2f}), which has only {labels}."

        yield likely, max(1, N_RARE // len(_rare_classes(n_labels))), rare
    drawn = rng.permutation(len(answers))
    yield drawn, N_RANDOM, lambda place: "Drawn at random: only such rows measure the accuracy fairly."


def _rare_classes(n_labels: Sequence[int]) -> list[int]:
    """The classes with few labels, the rarest first; none where all have few."""
    even = sum(n_labels) / len(n_labels)
    rare = [k for k, n in enumerate(n_labels) if n < min(max(FEW_LABELS, SMALL_PART * even), even)]
    return sorted(rare, key=lambda k: n_labels[k])[:MOST_RARE]
