"""What ``softcount train`` is told: options on the command line, or a small TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from softcount.cli.outcomes import UsageError
from softcount.cli.wording import did_you_mean

__all__ = ["TrainSettings", "read_number", "read_settings", "read_span"]


@dataclass(frozen=True)
class TrainSettings:
    """Everything a user may decide about training; None leaves it to softcount.

    Attributes
    ----------
    label : str or None
        The column with the labels.
    columns : dict of str to str
        Roles of columns.
    words, characters : tuple of two int, or None
        Runs of words and of characters that are counted.
    stop_words : tuple of str
    min_rows : int
    most_words, hashed : int or None
    event_model : str
    alpha : float or "auto"
    unlabeled : float or "auto"
    calibrate : str
    missing : tuple of str
        More texts that stand for a missing value.
    """

    label: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    words: tuple[int, int] | None = (1, 1)
    characters: tuple[int, int] | None = None
    stop_words: tuple[str, ...] = ()
    min_rows: int = 1
    most_words: int | None = None
    hashed: int | None = None
    event_model: str = "auto"
    alpha: float | str = "auto"
    unlabeled: float | str = "auto"
    calibrate: str = "auto"
    missing: tuple[str, ...] = ()

    def changed(self, **told: Any) -> TrainSettings:
        """These settings, with what was told in their place; None was not told."""
        told = {name: value for name, value in told.items() if value is not None}
        if "columns" in told:
            told["columns"] = {**self.columns, **told["columns"]}
        return replace(self, **told)

    def with_spans(self, **spans: Any) -> TrainSettings:
        """These settings with other ``words`` or ``characters``, of which None means none."""
        return replace(self, **spans)


def read_settings(path: str) -> TrainSettings:
    """Settings from a TOML file whose keys are the options of ``softcount train``.

    Parameters
    ----------
    path : str
        For example ``label = "class"``, ``words = "1-2"`` and a table ``[columns]`` with ``age = "number"``.
    """
    import tomllib

    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is no TOML file ({error}).") from None
    known = [f.name for f in fields(TrainSettings)]
    told: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        if name not in known:
            raise UsageError(f"{path}: there is no setting {key!r}{did_you_mean(key, known)}")
        told[name] = _checked(name, value, f"{path}: {key}")
    spans = {name: told.pop(name) for name in ("words", "characters") if name in told}
    return TrainSettings().changed(**told).with_spans(**spans)


def _checked(name: str, value: Any, where: str) -> Any:
    if name == "columns":
        if not isinstance(value, Mapping) or not all(isinstance(role, str) for role in value.values()):
            raise UsageError(f'{where} is a table from columns to roles, such as age = "number".')
        return dict(value)
    if name in ("words", "characters"):
        return read_span(str(value), where)
    if name in ("stop_words", "missing"):
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{where} is a list of texts.")
        return tuple(value)
    if name in ("alpha", "unlabeled"):
        return read_number(str(value), where)
    wanted: type = int if name in ("min_rows", "most_words", "hashed") else str
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise UsageError(f"{where} is {value!r}; expected {'a whole number' if wanted is int else 'a text'}.")
    return value


def read_span(text: str, where: str) -> tuple[int, int] | None:
    """``"1-3"`` as (1, 3), ``"2"`` as (2, 2), ``"none"`` as None."""
    if text == "none":
        return None
    found = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", text)
    if found is None:
        raise UsageError(f"{where} is {text!r}; expected the shortest and longest run, such as 1-2, or none.")
    return int(found[1]), int(found[2] or found[1])


def read_number(text: str, where: str) -> float | str:
    """``"auto"``, or a number."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{where} is {text!r}; expected auto or a number.") from None
