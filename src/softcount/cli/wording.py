"""Words for people: suggestions, and what reports say as well."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from softcount.report.wording import command_line, feature_shortened, percent, printable, shortened, table_lines

__all__ = ["command_line", "did_you_mean", "feature_shortened", "percent", "printable", "shortened", "table_lines"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence: ``; did you mean …?`` or a full stop."""
    names = [str(name) for name in known]
    lower = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), lower, n=1)
    return f"; did you mean {lower[found[0]]!r}?" if found else "."
