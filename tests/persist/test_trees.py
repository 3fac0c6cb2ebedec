"""Values become trees and arrays, and come back as they were."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from softcount.persist.tree import flatten, rebuild

CUBE = np.arange(24.0).reshape(2, 3, 4)
ARRAYS = {
    "plain": CUBE,
    "columns first": np.asfortranarray(CUBE),
    "turned": CUBE.transpose(1, 2, 0),
    "turned the other way": CUBE.transpose(2, 0, 1),
    "every second": CUBE[:, ::2, ::3],
    "repeated": np.broadcast_to(np.array([[1.0], [2.0]]), (2, 5)),
    "repeated twice": np.broadcast_to(np.arange(3.0), (2, 4, 3)),
    "other bytes first": np.arange(5, dtype=">i4"),
    "a single number": np.array(2.5),
    "nothing": np.empty((0, 3), dtype=np.float32),
    "texts": np.array([["a", "long one"], ["", "é"]]),
}


def there_and_back(value: Any, *, keep_order: bool) -> Any:
    tree, arrays = flatten(value, {}, lambda cls, name: False, keep_order=keep_order)
    # Readers of JSON may take every number for a floating one.
    tree = json.loads(json.dumps(tree), parse_int=lambda text: int(float(text)))

    def refused(*_: Any) -> Any:
        raise AssertionError

    return rebuild(tree, arrays, refused, refused, keep_order=keep_order)


def order_of_axes(array: NDArray[Any]) -> list[int]:
    return [int(axis) for axis in np.argsort([-abs(stride) for stride in array.strides], kind="stable")]


@pytest.mark.parametrize("keep_order", [False, True])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_with_their_values_and_if_asked_the_order_of_their_axes(name: str, keep_order: bool) -> None:
    array = ARRAYS[name]
    back = there_and_back({"a": array}, keep_order=keep_order)["a"]
    np.testing.assert_array_equal(back, array)
    assert back.dtype == array.dtype.newbyteorder("=")
    if keep_order:
        assert order_of_axes(back) == order_of_axes(array)
        assert [stride == 0 for stride in back.strides] == [stride == 0 for stride in array.strides]


@pytest.mark.parametrize("value", [0, -7, 2**53, 2**53 + 1, -(2**60) - 1, 2**200, True, None, 0.1, math.inf, -math.inf])
def test_numbers_keep_every_digit(value: Any) -> None:
    back = there_and_back([value], keep_order=False)[0]
    assert back == value
    assert type(back) is type(value)


def test_containers_keep_their_kind_and_order() -> None:
    value = {(1, "b"): [1, (2, [3])], "a": {"z": 1, "y": frozenset({"q", "p"})}, None: math.nan}
    back = there_and_back(value, keep_order=False)
    assert list(back) == list(value)
    assert back[1, "b"] == [1, (2, [3])]
    assert list(back["a"].items()) == [("z", 1), ("y", frozenset({"q", "p"}))]
    assert math.isnan(back[None])
