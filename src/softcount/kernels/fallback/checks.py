"""Checks of the arrays handed to a kernel; the native backend makes the same ones in C."""

import numpy as np

from softcount.kernels.arrays import FloatArray, IndexArray, NumberArray


def check_shape(name: str, array: NumberArray, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless ``array`` has exactly this shape."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}.")


def check_output(name: str, array: NumberArray, shape: tuple[int, ...]) -> None:
    """Raise unless ``array`` is a writable float64 array of this shape, laid out row by row."""
    check_shape(name, array, shape)
    if array.dtype != np.float64:
        raise TypeError(f"{name} has dtype {array.dtype}, expected float64.")
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError(f"{name} must be writable and C-contiguous.")


def check_pattern(indptr: IndexArray, indices: IndexArray, data: NumberArray | None, n_features: int) -> slice:
    """Check the part of a CSR pattern that ``indptr`` points to, and return that part.

    Raises
    ------
    ValueError
        If ``indptr`` decreases or points outside ``indices``, or ``data`` is not as long as ``indices``.
    IndexError
        If a column number is outside ``0 … n_features - 1``.
    """
    if indptr.ndim != 1 or indptr.size == 0:
        raise ValueError(f"indptr has shape {indptr.shape}, expected (n_rows + 1,).")
    if data is not None and data.shape != indices.shape:
        raise ValueError(f"data has shape {data.shape}, but indices has {indices.shape}.")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        raise ValueError(f"indptr decreases after row {int(falls[0])}.")
    start, stop = int(indptr[0]), int(indptr[-1])
    if start < 0 or stop > indices.shape[0]:
        raise ValueError(f"indptr spans {start} … {stop}, but there are {indices.shape[0]} indices.")
    chunk = indices[start:stop]
    if chunk.size and (int(chunk.min()) < 0 or int(chunk.max()) >= n_features):
        position = start + int(np.flatnonzero((chunk < 0) | (chunk >= n_features))[0])
        raise IndexError(
            f"indices[{position}] is {int(indices[position])}, expected 0 <= index < {n_features} columns."
        )
    return slice(start, stop)


def check_class_codes(class_codes: NumberArray, n_rows: int, n_classes: int) -> None:
    """Check one class code per row: -1 (skip) or a column of the output."""
    check_shape("class_codes", class_codes, (n_rows,))
    if n_rows and (int(class_codes.min()) < -1 or int(class_codes.max()) >= n_classes):
        row = int(np.flatnonzero((class_codes < -1) | (class_codes >= n_classes))[0])
        raise IndexError(f"class_codes[{row}] is {int(class_codes[row])}, expected -1 (skip) … {n_classes - 1}.")


def membership(class_codes: NumberArray, weight: FloatArray | None, n_rows: int, n_classes: int) -> FloatArray:
    """Return responsibilities of rows of known class: the row's weight in the column of its class."""
    check_class_codes(class_codes, n_rows, n_classes)
    member: FloatArray = (class_codes[:, None] == np.arange(n_classes)).astype(np.float64)
    if weight is not None:
        check_shape("weight", weight, (n_rows,))
        member *= weight[:, None]
    return member
