"""A table as it comes from a file: cells by column, and where in the file each row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softcount._errors import InputError
from softcount.inputs.columns import is_table

__all__ = ["RawTable"]


@dataclass(frozen=True)
class RawTable:
    """Cells by column.

    Attributes
    ----------
    columns : dict of str to list
        Texts, numbers, booleans, dates or None; all lists have the same length.
    places : sequence of int
        Where each row is in its file.
    unit : str
        What ``places`` counts: "row", "line", "record", "file", "message".
    """

    columns: dict[str, list[Any]]
    places: Sequence[int]
    unit: str = "row"

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.places)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, len(self.columns)

    def where(self, row: int) -> str:
        """Where a row is, in words."""
        return f"{self.unit} {self.places[row]}"

    def without(self, *names: str) -> RawTable:
        """The table without some columns."""
        return RawTable({n: cells for n, cells in self.columns.items() if n not in names}, self.places, self.unit)

    def take(self, rows: Sequence[int]) -> RawTable:
        """Some of the rows, in that order."""
        columns = {name: [cells[i] for i in rows] for name, cells in self.columns.items()}
        return RawTable(columns, [self.places[i] for i in rows], self.unit)

    def rows(self, start: int, stop: int) -> RawTable:
        """Rows ``start`` to ``stop``."""
        columns = {name: cells[start:stop] for name, cells in self.columns.items()}
        return RawTable(columns, self.places[start:stop], self.unit)

    @classmethod
    def of(cls, X: Any) -> RawTable:
        """The table in a RawTable, a data frame, an Arrow table, or a mapping of names to cells."""
        if isinstance(X, RawTable):
            return X
        if is_table(X):
            import narwhals.stable.v2 as nw

            frame = nw.from_native(X, eager_only=True)
            names = list(frame.columns)
            if len(set(names)) < len(names):
                raise InputError(f"The column names {names} are not all different. Rename the columns.")
            columns = {name: frame[name].to_list() for name in names}
            return cls(columns, range(frame.shape[0]))
        if not isinstance(X, Mapping):
            raise InputError(
                f"X is a {type(X).__name__}; give a data frame, an Arrow table or a mapping from the names of columns "
                "to their cells."
            )
        columns = {str(name): list(cells) for name, cells in X.items()}
        lengths = {name: len(cells) for name, cells in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"The columns have different lengths: {lengths}.")
        return cls(columns, range(next(iter(lengths.values()), 0)))
