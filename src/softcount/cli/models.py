"""Model files on the command line."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcount.cli.outcomes import DataError, UsageError

if TYPE_CHECKING:
    from softcount.estimators.table import TableClassifier

__all__ = ["load_model", "load_table_classifier", "origin_of", "sha256_of"]


def load_model(path: str) -> Any:
    """Any estimator in a model file."""
    from softcount.cli.readers.sources import similar_file
    from softcount.persist import load

    if Path(path).is_dir():
        raise DataError(f"{path}: this is a folder; give the model file that 'softcount train' wrote.")
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such model file{similar_file(Path(path))}")
    return load(path)


def load_table_classifier(path: str) -> TableClassifier:
    """A model that ``softcount train`` made."""
    from softcount.estimators.table import TableClassifier

    model = load_model(path)
    if not isinstance(model, TableClassifier):
        maker = {"TableMixture": "cluster", "TableLatentClass": "cluster", "GLM": "glm"}.get(type(model).__name__)
        made = "was saved from Python" if maker is None else f"'softcount {maker}' made"
        raise UsageError(
            f"{path}: this is a {type(model).__name__}, which {made}; this command works with the classifiers that "
            "'softcount train' makes."
        )
    return model


def origin_of(model: Any) -> tuple[str | None, int | None]:
    """The column of labels and the number of rows a model was trained with; None where it was saved from Python."""
    origin = getattr(model, "origin_", None)
    origin = origin if isinstance(origin, dict) else {}
    label, n_rows = origin.get("label"), origin.get("n_rows")
    return label if isinstance(label, str) else None, n_rows if isinstance(n_rows, int) else None


def sha256_of(path: str) -> str:
    """The fingerprint of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
