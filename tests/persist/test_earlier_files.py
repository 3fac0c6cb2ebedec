"""Files of every format there has been can be read, and answer as they did when they were written."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softcount
from softcount._errors import InputError
from softcount.persist.registry import FORMAT
from tests.persist.frozen import CASES, FILES, answers

FROZEN = sorted(FILES.glob("*.softcount"))


@pytest.mark.parametrize("path", FROZEN, ids=[path.stem for path in FROZEN])
def test_an_earlier_file_answers_as_it_did(path: Path) -> None:
    kind, name = path.stem.rsplit("-", 1)
    expected = json.loads((FILES / f"{kind}.json").read_text(encoding="utf-8"))[name]
    found = answers(softcount.load(path), CASES[name][1])
    # Not bit by bit: another processor may round the last digit otherwise.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_every_format_has_files_of_every_case() -> None:
    assert {path.stem for path in FROZEN} == {f"format-{k}-{name}" for k in range(1, FORMAT + 1) for name in CASES}


@pytest.mark.parametrize("version", [0, FORMAT + 1, "1", None, 1.5, True])
def test_a_file_of_a_format_to_come_is_refused_with_what_to_do(version: Any, tmp_path: Path) -> None:
    data = FROZEN[0].read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tree = json.loads(header["__metadata__"]["softcount"])
    header["__metadata__"]["softcount"] = json.dumps({**tree, "format": version})
    text = json.dumps(header).encode()
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
    with pytest.raises(InputError, match="Upgrade softcount"):
        softcount.load(tmp_path / "m")
