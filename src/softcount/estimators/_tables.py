"""From a checked homogeneous X to a block: numbers, counts, yes/no, codes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from softcount._errors import InputError
from softcount._types import BoolArray, FloatArray, IntArray
from softcount.core.execute import resolve_n_jobs
from softcount.estimators._plain_array import NUMBERS, take_plain
from softcount.families.blocks import DenseBlock, SparseBlock
from softcount.inputs.arrow_numbers import plain_numbers
from softcount.inputs.masked import unmasked
from softcount.kernels import NumberRange, csr_repeats, number_range

__all__ = [
    "check_counts",
    "check_finite",
    "check_magnitude",
    "dense_block",
    "in_range",
    "is_sparse",
    "names_of_columns",
    "range_of",
    "read_codes",
    "read_numbers",
    "refuse_repeated_names",
    "sparse_block",
    "with_place",
    "without_duplicates",
    "without_na",
]

LARGEST_VALUE = 1e150
SMALLEST_VALUE = 1e-150
ADVICE = "Correct the cell, or make it NaN if the value is missing."
#: Gives the names of the columns when a message needs them: making them takes longer than scoring a row.
Names: TypeAlias = Callable[[], list[str]]
#: Codes are kept in 32 bits.
LARGEST_CODE = 2**31 - 1
#: Numbers that a thread looks at before it takes the next; fewer are looked at by one thread.
PIECE = 2**19


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    return bool(issparse(X))


def names_of_columns(given: Any, own: list[str]) -> list[str]:
    """The names somebody gave to the columns, checked, or else their own."""
    if given is None:
        return own
    names = [str(name) for name in given]
    if len(names) != len(own):
        raise InputError(f"feature_names has {len(names)} names, but the model has {len(own)} features.")
    return names


def read_numbers(estimator: Any, X: Any, *, reset: bool, accept_sparse: bool = True, check_finite: bool = True) -> Any:
    """X checked by scikit-learn's rules, with NaN allowed; sparse input comes out as CSR.

    Without ``check_finite`` infinite cells are left for the caller to notice.
    """

    def check(table: Any) -> Any:
        return validate_data(
            estimator,
            table,
            reset=reset,
            accept_sparse="csr" if accept_sparse else False,
            dtype="numeric",
            ensure_all_finite="allow-nan" if check_finite else False,
        )

    if take_plain(estimator, X, reset=reset, kinds=NUMBERS, check_finite=check_finite):
        return X
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        plain = None if reset else _known_columns(estimator, X, check_finite=check_finite)
        if plain is not None:
            return plain
        X = X.to_pandas()
    X = unmasked(X)
    refuse_repeated_names(X)
    _refuse_texts(X, type(estimator).__name__)
    try:
        checked = check(X)
        if checked.dtype == object:
            # A list with None in it becomes an array of objects, and only such an array one of numbers.
            checked = check(checked)
    except TypeError as error:
        if "NAType" not in str(error):
            raise with_place(error, X, estimator) from None
        checked = check(without_na(X))
    except ValueError as error:
        raise with_place(error, X, estimator) from None
    if checked.dtype == np.float16:
        checked = checked.astype(np.float32)
    elif checked.dtype.kind == "f" and checked.dtype.itemsize > 8:
        checked = checked.astype(np.float64)
    return checked


def _known_columns(estimator: Any, X: Any, *, check_finite: bool) -> NDArray[Any] | None:
    """The cells of an Arrow table of numbers that has just the columns known; None where there is more to look at."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or getattr(X, "column_names", None) != list(names) or X.num_rows == 0:
        return None
    cells = plain_numbers(X)
    if cells is None or not check_finite or cells.dtype.kind != "f":
        return cells
    seen = range_of(cells)
    # A data frame says better which cell is infinite.
    return cells if seen.least > -np.inf and seen.greatest < np.inf else None


def refuse_repeated_names(X: Any) -> None:
    """Refuse a data frame two of whose columns have one name; only those of pandas can."""
    names: Any = getattr(X, "columns", None)
    if not getattr(names, "is_unique", True):
        twice = sorted({str(name) for name in names[names.duplicated()]})
        raise InputError(f"The column names {twice} occur more than once in X. Rename the columns.")


def _refuse_texts(X: Any, name: str) -> None:
    """Refuse texts in a row, one of the commonest mistakes, which reshaping would not mend."""
    if type(X).__module__.startswith("polars"):
        return
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    texts = first if isinstance(first, str) else None
    if texts is None and getattr(X, "ndim", 2) == 1 and len(X):
        first = np.asarray(X)[0]
        texts = first if isinstance(first, str) else None
    if texts is not None:
        raise InputError(
            f"Expected 2D array, got 1D array instead: X is a row of texts (the first is {str(texts)[:40]!r}), but "
            f"{name} takes a table of numbers. Count their words first, with scikit-learn's CountVectorizer; "
            "MultinomialNB takes the counts."
        )


def check_finite(estimator: Any, X: NDArray[Any]) -> None:
    """Refuse infinite cells, naming the first; NaN is allowed."""
    try:
        check_array(X, accept_sparse="csr", ensure_all_finite="allow-nan", input_name="X", estimator=estimator)
    except ValueError as error:
        raise with_place(error, X, estimator) from None


def range_of(X: Any, n_jobs: int | None = 1) -> NumberRange:
    """What the cells of a table lie between, or the stored entries of a sparse one, seen once by ``n_jobs`` threads."""
    cells = X.data if is_sparse(X) else X.T if X.flags.f_contiguous else X
    if not cells.flags.c_contiguous:
        return _united([number_range(np.ascontiguousarray(row)) for row in cells])
    cells = cells.reshape(-1)
    if cells.size <= PIECE:
        return number_range(cells)
    # The pieces do not depend on the number of threads, so neither do the last digits of the total.
    pieces = [cells[start : start + PIECE] for start in range(0, cells.size, PIECE)]
    n_threads = min(resolve_n_jobs(n_jobs), len(pieces))
    if n_threads == 1:
        return _united([number_range(piece) for piece in pieces])
    with ThreadPoolExecutor(n_threads) as pool:
        return _united(list(pool.map(number_range, pieces)))


def _united(parts: list[NumberRange]) -> NumberRange:
    """What all parts lie between."""
    return NumberRange(
        min((part.least for part in parts), default=np.inf),
        max((part.greatest for part in parts), default=-np.inf),
        sum(part.total for part in parts),
        any(part.has_missing for part in parts),
    )


def without_na(X: Any) -> Any:
    """X with ``pd.NA`` in columns of objects replaced by NaN."""
    if hasattr(X, "notna"):
        return X.astype(object).where(X.notna(), np.nan)
    array = np.array(X, dtype=object)
    lost = np.fromiter((type(v).__name__ == "NAType" for v in array.flat), dtype=bool, count=array.size)
    array[lost.reshape(array.shape)] = np.nan
    return array


def with_place(error: Exception, X: Any, estimator: Any, advice: str = ADVICE) -> Exception:
    """The error, saying which cell it is about where it is about one cell."""
    text = str(error)
    if "infinity" in text:
        found = _first_cell(X, lambda cell: isinstance(cell, (float, np.floating)) and bool(np.isinf(cell)))
    elif "could not convert" in text or "float() argument" in text or "bytes/strings" in text:
        found = _first_cell(X, _is_no_number)
    else:
        return error
    if found is None:
        return error
    row, column, cell = found
    cell = cell.item() if isinstance(cell, np.generic) else cell
    names = getattr(X, "columns", getattr(estimator, "feature_names_in_", None))
    name = column if names is None else repr(list(names)[column])
    if isinstance(cell, str) and advice is ADVICE and not hasattr(estimator, "families"):
        advice = "Tables with texts and categories in them go into NaiveBayes, Mixture or LatentClass as they are."
    message = f"{text.splitlines()[0].rstrip('.')}: row {row}, column {name} of X holds {cell!r}. {advice}"
    return TypeError(message) if isinstance(error, TypeError) else InputError(message)


def _first_cell(X: Any, test: Any) -> tuple[int, int, Any] | None:
    if is_sparse(X):
        entries = X.tocoo()
        cells = zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True)
        return next(((i, j, cell) for i, j, cell in cells if test(cell)), None)
    try:
        array = np.asarray(X)
        if array.dtype.kind in "US":
            array = np.asarray(X, dtype=object)
    except ValueError:
        return None
    if array.ndim != 2:
        return None
    for position, cell in enumerate(array.flat):
        if test(cell):
            return position // array.shape[1], position % array.shape[1], cell
    return None


def _is_no_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return cell is not None
    return False


def dense_block(X: NDArray[Any], *, threshold: float | None = None, has_missing: bool | None = None) -> DenseBlock:
    """A dense block, knowing whether any cell is missing: told by ``has_missing``, or looked for."""
    if X.dtype == np.bool_:
        return DenseBlock(X.view(np.uint8), False, threshold)
    return DenseBlock(X, _has_nan(X) if has_missing is None else has_missing, threshold)


def _has_nan(X: NDArray[Any]) -> bool:
    if X.dtype.kind != "f":
        return False
    # A sum is read faster than a mask is written; it is NaN if a cell is, or if infinities meet.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(np.sum(X))) and bool(np.isnan(X).any())


def sparse_block(X: Any, *, binary: bool = False, has_missing: bool | None = None) -> SparseBlock:
    """A sparse block of a CSR matrix; ``binary`` keeps the pattern of the stored entries alone where all are one."""
    data = X.data
    missing = None
    if _has_nan(data) if has_missing is None else has_missing:
        lost = np.isnan(data)
        counts = np.concatenate([[0], np.cumsum(lost)])
        missing = SparseBlock(counts[X.indptr].astype(np.int64), X.indices[lost], None, X.shape[1])
        data = np.where(lost, 0.0, data)
    if binary and missing is None and bool((data == 1).all()):
        data = None
    return SparseBlock(X.indptr, X.indices, data, X.shape[1], missing)


def without_duplicates(X: Any) -> Any:
    """A CSR matrix in which no cell is stored twice; the one given where that holds, in whatever order it is stored."""
    if X.has_canonical_format or not csr_repeats(X.indptr, X.indices, X.shape[1]):
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def check_magnitude(X: NDArray[Any], names: list[str]) -> None:
    """Refuse values whose squares leave the range of floating point."""
    if X.dtype.kind != "f" or X.dtype.itemsize <= 4 or X.size == 0:
        return
    # Twice over the table, which costs no array of its size; fmax and fmin pass over NaN, but take longer.
    largest = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
    if np.isnan(largest).any():
        largest = np.maximum(np.fmax.reduce(X, axis=0, initial=0.0), -np.fmin.reduce(X, axis=0, initial=0.0))
    wrong = (largest > LARGEST_VALUE) | ((largest > 0.0) & (largest < SMALLEST_VALUE))
    if wrong.any():
        j = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"Column {names[j]!r} holds values as large as {largest[j]:.3g} in size, whose squares leave the range of "
            "floating point. Rescale the column, for example by dividing it by its largest absolute value."
        )


def in_range(moments: Mapping[str, FloatArray]) -> bool:
    """Whether moments show that no cell was infinite and no square left the range of floating point."""
    if not all(bool(np.isfinite(array).all()) for array in moments.values()):
        return False
    sizes = np.abs(moments["mean"])
    lost = (moments["scatter"] == 0.0) & (sizes > 0.0) & (sizes < SMALLEST_VALUE)
    return not bool(lost.any()) and float(sizes.max(initial=0.0)) <= LARGEST_VALUE


def check_counts(X: Any, names: Names, estimator: Any) -> NumberRange:
    """Refuse infinite and negative counts, and counts whose sums leave the range of floating point; NaN is allowed.

    Returns
    -------
    NumberRange
        What the counts lie between.
    """
    seen = range_of(X, getattr(estimator, "n_jobs", 1))
    if seen.least >= 0.0 and seen.greatest <= LARGEST_VALUE:
        return seen
    check_finite(estimator, X)
    values, estimator = X.data if is_sparse(X) else X, type(estimator).__name__
    if np.nanmin(values, initial=0) < 0:
        row, name, value = _cell(X, values < 0, names)
        raise InputError(
            f"Negative values in data passed to {estimator} (input X): row {row}, column {name!r} holds {value}. "
            "Counts are 0 or more; a missing count is NaN."
        )
    if values.dtype.kind == "f" and values.dtype.itemsize > 4 and np.nanmax(values, initial=0) > LARGEST_VALUE:
        row, name, value = _cell(X, values > LARGEST_VALUE, names)
        raise InputError(
            f"Row {row}, column {name!r} holds {value}, a count whose sums leave the range of floating point. Rescale "
            f"the counts to below {LARGEST_VALUE:g}."
        )
    return seen


def _cell(X: Any, wrong: NDArray[Any], names: Names) -> tuple[int, str, Any]:
    """Row, column name and value of the first wrong cell; of a sparse X, of the first wrong stored entry."""
    if is_sparse(X):
        entry = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        return row, names()[int(X.indices[entry])], X.data[entry]
    row, column = (int(i) for i in np.argwhere(wrong)[0])
    return row, names()[column], X[row, column]


def read_codes(X: NDArray[Any], names: Names, estimator: str, *, clip: bool = False) -> tuple[NDArray[Any], IntArray]:
    """Whole-number categories with -1 for missing, and the largest code per column.

    Fractions are cut off, as scikit-learn does, but not silently.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Numbers; NaN where missing.
    names : callable
        Gives the names of the columns, for error messages.
    estimator : str
        Who asks, for error messages.
    clip : bool
        Whether codes beyond 32 bits become the largest code instead of an error.
    """
    missing = np.isnan(X) if X.dtype.kind == "f" else None
    if X.dtype.kind not in "ub" and bool((X < 0).any()):
        row, name, value = _cell(X, X < 0, names)
        raise InputError(
            f"Negative values in data passed to {estimator} (input X): row {row}, column {name!r} holds {value}. "
            "Categories are whole numbers 0, 1, 2, ...; a missing value is NaN."
        )
    has_missing = missing is not None and bool(missing.any())
    filled = X if missing is None or not has_missing else np.where(missing, -1.0, X)
    if missing is not None and not (np.floor(filled) == filled).all():
        _warn_of_fractions(X, missing, names, estimator)
        filled = np.floor(filled)
    top = filled.max(initial=0)
    if top > LARGEST_CODE:
        if not clip:
            row, name, value = _cell(X, filled > LARGEST_CODE, names)
            raise InputError(
                f"Row {row}, column {name!r} holds the category {value}, but codes go up to {LARGEST_CODE}. Recode the "
                "categories as 0, 1, 2, ..., or use NaiveBayes, which takes them as they are."
            )
        filled = np.minimum(filled, LARGEST_CODE)
    largest = filled.max(axis=0, initial=0).astype(np.int64)
    dtype = np.uint8 if top < 255 and not has_missing else np.int16 if top < 2**15 else np.int32
    return np.ascontiguousarray(filled.astype(dtype)), largest


def _warn_of_fractions(X: NDArray[Any], missing: BoolArray, names: Names, estimator: str) -> None:
    from sklearn.exceptions import DataConversionWarning

    row, name, value = _cell(X, ~missing & (np.floor(X) != X), names)
    warnings.warn(
        f"{estimator} takes categories as whole numbers 0, 1, 2, ..., but row {row}, column {name!r} holds {value}: "
        "fractions are cut off. Bin measurements into categories first, or use GaussianNB or NaiveBayes.",
        DataConversionWarning,
        stacklevel=5,
    )
