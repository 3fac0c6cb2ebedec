"""The decision regions of any classifier, seen in two columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Regions", "decision_regions", "plot_boundary"]

GRID = 200
MARGIN = 0.08


@dataclass(frozen=True)
class Regions:
    """What a classifier says on a grid over two columns.

    Attributes
    ----------
    names : tuple of str
        The two columns.
    axes : tuple of arrays
        Grid values of each.
    codes : array of shape (n_second, n_first)
        Position in ``classes`` of the label predicted at each point.
    confidence : array of shape (n_second, n_first)
        Probability of that label, 1 for classifiers without probabilities.
    classes : array
    points : array of shape (n_samples, 2)
        The rows, in the two columns.
    point_codes : array of shape (n_samples,)
        Their classes' positions.
    """

    names: tuple[str, str]
    axes: tuple[FloatArray, FloatArray]
    codes: NDArray[np.intp]
    confidence: FloatArray
    classes: NDArray[Any]
    points: FloatArray
    point_codes: NDArray[np.intp]


def plot_boundary(classifier: Any, X: Any, y: Any, columns: tuple[Any, Any] = (0, 1), ax: Axes | None = None) -> Axes:
    """Draw where a classifier decides for which class, and the rows (needs matplotlib).

    A classifier that is fitted to all columns of ``X`` is drawn in the plane where every other column has its median.
    One that is not fitted is fitted, as a clone, to the two columns alone.

    Parameters
    ----------
    classifier : classifier
        Anything with ``fit`` and ``predict``; probabilities, where there are any, shade the regions.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels. Rows without one are drawn as gray dots.
    columns : pair of int or str, default=(0, 1)
        The two columns, by position or, in a data frame, by name.
    ax : matplotlib axes, optional
        Where to draw; new ones by default.

    Returns
    -------
    ax : matplotlib axes
    """
    from softcount.explain.plots.boundary import draw_regions

    return draw_regions(decision_regions(classifier, X, y, columns), ax)


def decision_regions(
    classifier: Any, X: Any, y: Any, columns: tuple[Any, Any] = (0, 1), *, grid: int = GRID
) -> Regions:
    """What :func:`plot_boundary` draws.

    Examples
    --------
    >>> import numpy as np
    >>> from softcount import LogisticRegression
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), np.array([0, 0, 1, 1])
    >>> regions = decision_regions(LogisticRegression(), X, y, grid=4)
    >>> regions.codes
    array([[0, 0, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    X, y = indexable(X, y)
    labels = np.asarray(y)
    if len(columns) != 2:
        raise InputError(f"columns is {columns!r}; a plane has two.")
    names = [str(name) for name in getattr(X, "columns", [])]
    table = _numbers(X)
    chosen = [_position(column, names, table.shape[1]) for column in columns]
    points = np.asarray(table[:, chosen], dtype=np.float64)
    if not np.isfinite(points).all():
        raise InputError(f"Columns {columns!r} hold missing or infinite values; a plane has room for numbers alone.")
    axes = tuple(_axis(points[:, i], grid) for i in range(2))
    first, second = np.meshgrid(*axes)
    plane = np.column_stack([first.ravel(), second.ravel()])
    if _is_fitted(classifier):
        fitted = classifier
        if getattr(fitted, "n_features_in_", table.shape[1]) != 2 or table.shape[1] == 2:
            whole = np.tile(np.nanmedian(table, axis=0), (plane.shape[0], 1))
            whole[:, chosen] = plane
            plane = whole
            seen = _like(X, plane)
        else:
            seen = plane
    else:
        part = _select(X, chosen)
        fitted = clone(classifier).fit(part, y)
        seen = _like(part, plane)
    predicted = np.asarray(fitted.predict(seen))
    classes = np.asarray(fitted.classes_ if hasattr(fitted, "classes_") else np.unique(labels))
    position = {label: i for i, label in enumerate(classes.tolist())}
    codes = np.array([position[label] for label in predicted.tolist()]).reshape(first.shape)
    confidence = np.ones(first.shape)
    if hasattr(fitted, "predict_proba"):
        confidence = np.asarray(fitted.predict_proba(seen)).max(axis=1).reshape(first.shape)
    shown = tuple(names[i] if names else f"x{i}" for i in chosen)
    point_codes = np.array([position.get(label, -1) for label in labels.tolist()])
    return Regions((shown[0], shown[1]), (axes[0], axes[1]), codes, confidence, classes, points, point_codes)


def _is_fitted(classifier: Any) -> bool:
    try:
        check_is_fitted(classifier)
    except NotFittedError:
        return False
    return True


def _numbers(X: Any) -> FloatArray:
    if sp.issparse(X):
        sparse: Any = X
        return np.asarray(sparse.toarray(), dtype=np.float64)
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X cannot be read as numbers: {error}. A plane is drawn for numeric columns.") from None


def _position(column: Any, names: list[str], n_columns: int) -> int:
    if isinstance(column, str):
        if column not in names:
            raise InputError(f"X has no column {column!r}; it has {names or 'no names'}.")
        return names.index(column)
    if not -n_columns <= int(column) < n_columns:
        raise InputError(f"Column {column} asked for, but X has {n_columns} columns.")
    return int(column) % n_columns


def _axis(values: FloatArray, grid: int) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, grid)


def _select(X: Any, chosen: list[int]) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, chosen]
    table: Any = X if sp.issparse(X) else np.asarray(X)
    return table[:, chosen]


def _like(X: Any, table: FloatArray) -> Any:
    """``table`` as the kind of table ``X`` is, where a classifier would miss the names."""
    if hasattr(X, "iloc"):
        return type(X)(table, columns=X.columns)
    return table
