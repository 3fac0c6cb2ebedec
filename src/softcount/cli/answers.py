"""What a model answers about the rows of a table, as columns to write beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from softcount.cli.outcomes import UsageError

if TYPE_CHECKING:
    from softcount.inputs.raw_table import RawTable

__all__ = ["Answerer", "answerer", "beside", "most_probable", "written_rows"]

Answerer = Callable[["RawTable"], dict[str, Sequence[Any]]]


def answerer(model: Any, path: str, *, probabilities: bool) -> Answerer:
    """How this kind of model answers: a class or a group with its probability.

    Parameters
    ----------
    model : estimator
        From a model file.
    path : str
        The file, for messages.
    probabilities : bool
        Add the probability of every class or group.
    """
    from softcount.estimators.table import TableClassifier

    if isinstance(model, TableClassifier):
        names = [str(name) for name in model.classes_]
        return lambda piece: most_probable("prediction", names, _posterior(model, piece), probabilities=probabilities)
    if hasattr(model, "group_names"):
        names = model.group_names
        return lambda piece: most_probable("group", names, _posterior(model, piece), probabilities=probabilities)
    if type(model).__name__ == "GLM" and isinstance(getattr(model, "origin_", None), dict):
        from softcount.cli.regression import predict
        from softcount.inputs.cells import MISSING_MARKS

        if probabilities:
            raise UsageError(f"{path}: a generalized linear model predicts a mean, which has no --probabilities.")
        marks = MISSING_MARKS | set(model.origin_.get("missing", ()))
        return lambda piece: {"prediction": predict(model, piece, marks) if piece.n_rows else []}
    raise UsageError(
        f"{path}: this is a {type(model).__name__}, which was saved from Python and has to be used there; the "
        "command line predicts with models that 'softcount train', 'cluster' and 'glm' made."
    )


def written_rows(
    piece: RawTable, model: Any, path: str, *, probabilities: bool, only_answers: bool
) -> tuple[int, dict[str, Sequence[Any]], list[str]]:
    """How many rows a piece of a table has, what is to be written of them, and the names of its columns.

    Parameters
    ----------
    piece : RawTable
    model, path, probabilities
        As for :func:`answerer`.
    only_answers : bool
        Leave out the columns of the piece.
    """
    names = list(piece.columns)
    if piece.n_rows == 0:
        return 0, {}, names
    answers = answerer(model, path, probabilities=probabilities)(piece)
    return piece.n_rows, answers if only_answers else beside(piece, answers), names


def _posterior(model: Any, piece: RawTable) -> list[list[float]]:
    if piece.n_rows == 0:
        return []
    found: list[list[float]] = model.predict_proba(piece).tolist()
    return found


def most_probable(
    what: str, names: Sequence[str], posterior: Sequence[Sequence[float]], *, probabilities: bool
) -> dict[str, Sequence[Any]]:
    """The most probable class or group of each row, and its probability.

    Parameters
    ----------
    what : str
        The name of the column of answers.
    names : sequence of str
        Classes or groups.
    posterior : sequence of sequences of float
        A row for each row of the table.
    probabilities : bool
        Add the probability of every class or group.
    """
    best = [max(range(len(names)), key=row.__getitem__) for row in posterior]
    answers: dict[str, Sequence[Any]] = {
        what: [names[k] for k in best],
        "probability": [round(row[k], 6) for row, k in zip(posterior, best, strict=True)],
    }
    if probabilities:
        for k, name in enumerate(names):
            answers[f"probability of {name}"] = [round(row[k], 6) for row in posterior]
    return answers


def beside(piece: RawTable, answers: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """The table's columns and the answers; an answer whose name is taken gets another.

    Parameters
    ----------
    piece : RawTable
    answers : dict of str to sequence
    """
    columns: dict[str, Sequence[Any]] = dict(piece.columns)
    for name, cells in answers.items():
        free = name
        while free in columns:
            free += "_"
        columns[free] = cells
    return columns
