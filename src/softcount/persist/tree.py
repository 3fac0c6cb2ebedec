"""Estimators as trees of plain values and arrays, and back.

A fitted estimator is a tree of numbers, strings, lists, dictionaries, arrays and a fixed set of small classes
(families, priors, plans, statistics). :func:`flatten` writes the tree as JSON with the arrays set apart, and
:func:`rebuild` reads it. Only classes named in :mod:`softcount.persist.registry` are ever made: nothing is imported or
called because a file says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from softcount._errors import InputError

__all__ = ["Arrays", "flatten", "rebuild"]

Arrays = dict[str, NDArray[Any]]

#: Deeper trees than this are no model of ours.
DEEPEST = 32
_PLAIN_KINDS = "biuf"
#: How many times longer than its texts together an array of them may be.
LONGEST_PADDING = 1_000


def flatten(
    value: Any, names: Mapping[type, str], skip: Callable[[type, str], bool], *, keep_order: bool = False
) -> tuple[Any, Arrays]:
    """The tree as JSON-ready values, and its arrays by name.

    Parameters
    ----------
    value : object
        What to write.
    names : mapping of class to str
        The classes that may occur, by the name they have in a file.
    skip : callable
        ``skip(cls, field)`` says which fields are not written because they follow from others.
    keep_order : bool
        Whether arrays come back with their axes in the order in which they lie in memory, and repeated where they are:
        the last digits of sums and products depend on it.
    """
    writer = _Writer(names, skip, keep_order=keep_order)
    return writer.write(value, 0), writer.arrays


class _Writer:
    def __init__(self, names: Mapping[type, str], skip: Callable[[type, str], bool], *, keep_order: bool) -> None:
        self.names = names
        self.skip = skip
        self.keep_order = keep_order
        self.arrays: Arrays = {}

    def write(self, value: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise InputError(f"The model nests values more than {DEEPEST} deep, which a model file does not hold.")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (np.bool_, bool)):
            return bool(value)
        if isinstance(value, (int, np.integer)):
            return {"int": str(int(value))} if abs(int(value)) > 2**53 else int(value)
        if isinstance(value, (float, np.floating)):
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, np.ndarray):
            return self.write_array(value, depth)
        if issparse(value):
            loose: Any = value
            csr = loose.tocsr()
            parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": list(csr.shape)}
            kind = "csr_matrix" if isinstance(value, csr_matrix) else "csr_array"
            return {kind: {name: self.write(part, depth + 1) for name, part in parts.items()}}
        return self.write_container(value, depth)

    def write_array(self, value: NDArray[Any], depth: int) -> Any:
        layout = self.write_layout(value, depth) if self.keep_order and not value.flags.c_contiguous else None
        if layout is not None:
            return layout
        if value.dtype.kind in _PLAIN_KINDS and value.dtype.itemsize <= 8:
            name = f"a{len(self.arrays)}"
            # Little-endian and contiguous, whatever it was; ndim 0 and emptiness are kept.
            self.arrays[name] = np.array(value, dtype=value.dtype.newbyteorder("<"), order="C", copy=True)
            return {"array": name}
        items = [self.write(item, depth + 1) for item in value.ravel().tolist()]
        kind = "str" if value.dtype.kind == "U" else "object"
        return {"objects": {"dtype": kind, "shape": list(value.shape), "items": items}}

    def write_layout(self, value: NDArray[Any], depth: int) -> Any:
        """An array that repeats itself, or whose axes lie in another order; None where neither is so."""
        if any(stride == 0 and n > 1 for stride, n in zip(value.strides, value.shape, strict=True)):
            once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.strides)
            return {"repeated": {"shape": list(value.shape), "array": self.write_array(value[once], depth + 1)}}
        axes = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
        if axes == list(range(value.ndim)):
            return None
        return {"turned": {"axes": axes, "array": self.write_array(value.transpose(axes), depth + 1)}}

    def write_container(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if cls in self.names:
            fields = self.fields_of(value)
            return {"class": self.names[cls], "fields": {k: self.write(v, depth + 1) for k, v in fields.items()}}
        if isinstance(value, type) and value in self.names:
            return {"type": self.names[value]}
        if isinstance(value, list):
            return [self.write(item, depth + 1) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.write(item, depth + 1) for item in value]}
        if isinstance(value, (set, frozenset)):
            return {"set": [self.write(item, depth + 1) for item in sorted(value, key=repr)]}
        if isinstance(value, dict):
            return {"dict": [[self.write(k, depth + 1), self.write(v, depth + 1)] for k, v in value.items()]}
        raise InputError(
            f"The model holds a {cls.__module__}.{cls.__qualname__}, which a model file cannot keep. Set the parameter "
            "that holds it to a plain value and fit again."
        )

    def fields_of(self, value: Any) -> dict[str, Any]:
        cls = type(value)
        if dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif hasattr(cls, "_fields"):
            fields = {name: getattr(value, name) for name in cls._fields}
        else:
            fields = dict(vars(value))
        return {name: item for name, item in fields.items() if not self.skip(cls, name)}


def rebuild(
    tree: Any,
    arrays: Mapping[str, NDArray[Any]],
    make: Callable[[str, dict[str, Any]], Any],
    find: Callable[[str], type],
    *,
    keep_order: bool = False,
) -> Any:
    """The value that :func:`flatten` wrote.

    Parameters
    ----------
    tree : JSON value
    arrays : mapping of str to array
    make : callable
        ``make(name, fields)`` builds an instance of a registered class.
    find : callable
        ``find(name)`` gives a registered class.
    keep_order : bool
        Whether the value was written so.
    """
    forms = {*_FORMS, *_LAYOUTS} if keep_order else _FORMS
    return _Reader(arrays, make, find, forms).read(tree, 0)


class _Reader:
    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        make: Callable[[str, dict[str, Any]], Any],
        find: Callable[[str], type],
        forms: set[str],
    ) -> None:
        self.forms = forms
        self.arrays = arrays
        self.make = make
        self.find = find

    def read(self, tree: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise InputError("The model file nests values too deeply.")
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        if isinstance(tree, list):
            return [self.read(item, depth + 1) for item in tree]
        if not isinstance(tree, dict) or not tree:
            raise InputError("The model file holds a value of no known form.")
        if "class" in tree:
            fields = tree.get("fields")
            if set(tree) != {"class", "fields"} or not isinstance(fields, dict) or not isinstance(tree["class"], str):
                raise InputError("The model file holds a malformed object.")
            return self.make(tree["class"], {name: self.read(item, depth + 1) for name, item in fields.items()})
        if len(tree) != 1:
            raise InputError("The model file holds a value of no known form.")
        ((kind, content),) = tree.items()
        reader = getattr(self, f"_read_{kind}", None) if kind in self.forms else None
        if reader is None:
            raise InputError(f"The model file holds a value of the unknown form {kind!r}.")
        return reader(content, depth)

    def _read_int(self, content: Any, depth: int) -> int:
        if not isinstance(content, str) or len(content) > 400:
            raise InputError("The model file holds a malformed number.")
        return int(content)

    def _read_float(self, content: Any, depth: int) -> float:
        if content not in ("nan", "inf", "-inf"):
            raise InputError("The model file holds a malformed number.")
        return float(content)

    def _read_array(self, content: Any, depth: int) -> NDArray[Any]:
        if not isinstance(content, str) or content not in self.arrays:
            raise InputError(f"The model file refers to the array {content!r}, which it does not hold.")
        return self.arrays[content]

    def _read_objects(self, content: Any, depth: int) -> NDArray[Any]:
        shape, items = content["shape"], self.read(content["items"], depth + 1)
        if not isinstance(items, list) or not _is_shape(shape) or math.prod(shape) != len(items):
            raise InputError("The model file holds a malformed array of objects.")
        if content["dtype"] == "str":
            # Every item takes the room of the longest.
            if not all(isinstance(item, str) for item in items):
                raise InputError("The model file holds a malformed array of texts.")
            longest, total = max(map(len, items), default=0), sum(map(len, items))
            if longest * len(items) > LONGEST_PADDING * (total + len(items) + 1000):
                raise InputError(
                    "The model file holds an array of texts that would take far more memory than the file."
                )
            return np.array(items, dtype=np.str_).reshape(shape)
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            array[i] = item
        return array.reshape(shape)

    def _read_repeated(self, content: Any, depth: int) -> NDArray[Any]:
        return np.broadcast_to(self.read(content["array"], depth + 1), content["shape"])

    def _read_turned(self, content: Any, depth: int) -> NDArray[Any]:
        turned: NDArray[Any] = self.read(content["array"], depth + 1)
        return turned.transpose(np.argsort(content["axes"]))

    def _read_csr_array(self, content: Any, depth: int) -> Any:
        return self._sparse(csr_array, content, depth)

    def _read_csr_matrix(self, content: Any, depth: int) -> Any:
        return self._sparse(csr_matrix, content, depth)

    def _sparse(self, cls: Any, content: Any, depth: int) -> Any:
        parts = {name: self.read(content[name], depth + 1) for name in ("data", "indices", "indptr", "shape")}
        matrix = cls((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _read_type(self, content: Any, depth: int) -> type:
        if not isinstance(content, str):
            raise InputError("The model file holds a malformed class name.")
        return self.find(content)

    def _read_tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self.read(item, depth + 1) for item in content)

    def _read_set(self, content: Any, depth: int) -> frozenset[Any]:
        return frozenset(self.read(item, depth + 1) for item in content)

    def _read_dict(self, content: Any, depth: int) -> dict[Any, Any]:
        return {self.read(key, depth + 1): self.read(item, depth + 1) for key, item in content}


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and len(shape) <= 8 and all(type(n) is int and 0 <= n < 2**62 for n in shape)


_LAYOUTS = {"repeated", "turned"}
_FORMS = {"int", "float", "array", "objects", "csr_array", "csr_matrix", "type", "tuple", "set", "dict"}
