"""Files that are well-formed but say something else than a model: refused, or at worst an exception when they are used.

What ``test_hostile_files`` does to bytes, this does to the tree of values: parts replaced, left out, swapped.
"""

import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import softcount
from softcount._errors import InputError
from tests.persist.frozen import CASES, FILES

WRONG = [None, True, -1, 2**40, -1e308, "x", [], [0], {}, {"array": "a0"}, {"array": "a1"}, {"tuple": []}, {"dict": []},
         {"float": "nan"}, {"int": "1" * 30}, {"class": "Sums", "fields": {}}, {"type": "Multinomial"}]  # fmt: skip

Path_ = tuple[Any, ...]


def places(tree: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The places of all values below the root."""
    if path:
        yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def damage(tree: Any, rng: random.Random) -> None:
    """Replace a value, or leave it out."""
    path = rng.choice(list(places(tree)))
    for key in path[:-1]:
        tree = tree[key]
    if rng.random() < 0.2:
        del tree[path[-1]]
    else:
        tree[path[-1]] = json.loads(json.dumps(rng.choice(WRONG)))


@pytest.mark.parametrize("name", CASES)
def test_a_damaged_tree_is_refused_or_fails_as_python_does(name: str, tmp_path: Path) -> None:
    rng = random.Random(name)
    data = (FILES / f"format-1-{name}.softcount").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, arrays = json.loads(data[8 : 8 + length]), data[8 + length :]
    content = header["__metadata__"]["softcount"]
    n_refused = n_unfit = 0
    for _ in range(60):
        tree = json.loads(content)
        damage(tree, rng)
        text = json.dumps({**header, "__metadata__": {"softcount": json.dumps(tree)}}).encode()
        (tmp_path / "m").write_bytes(struct.pack("<Q", len(text)) + text + arrays)
        try:
            model = softcount.load(tmp_path / "m")
        except InputError:
            n_refused += 1
            continue
        # What loads may be unfit for use, but using it does no more harm than an exception.
        try:
            model.predict(CASES[name][1])
        except (MemoryError, SystemError, RecursionError):
            raise
        except Exception:
            n_unfit += 1
    assert n_refused >= 10
    assert n_unfit < n_refused
