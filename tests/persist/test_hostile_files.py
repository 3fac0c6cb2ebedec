"""Files that are no models, or are made to do harm, are refused: no code runs and little memory is taken."""

import json
import struct
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softcount
from softcount._errors import InputError
from softcount.estimators.table import TableClassifier
from tests.persist.mutations import mutated, outcome_of

#: One model of every kind, as an earlier version wrote them.
FROZEN = Path(__file__).parent / "files"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small model file."""
    table = {"text": ["win prize now", "lunch at noon", "prize win win", "noon lunch"] * 3, "n": list("1234") * 3}
    path = tmp_path_factory.mktemp("sound") / "m"
    TableClassifier(roles={"n": "category"}).fit(table, ["a", "b", "a", None] * 3).save(path)
    return path.read_bytes()


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Header, tree and arrays of a file."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["softcount"]), data[8 + length :]


def joined(header: dict[str, Any], tree: Any, arrays: bytes) -> bytes:
    header = {**header, "__metadata__": {"softcount": json.dumps(tree)}}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + arrays


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        softcount.load(path)
    return str(caught.value)


def test_files_of_other_kinds_are_no_models(tmp_path: Path) -> None:
    for data in (b"", b"\0" * 7, b"\x80\x04K\x01.", b"PK\x03\x04" + b"\0" * 100, b"label,text\na,b\n", b"\xff" * 64):
        assert "no softcount model" in refused(tmp_path / "m", data)


def test_claims_about_arrays_are_checked_before_anything_is_allocated(tmp_path: Path, sound: bytes) -> None:
    header, tree, arrays = parts(sound)
    name = next(key for key in header if key != "__metadata__")
    for change in (
        {"shape": [2**61, 2**61]},
        {"shape": [-1]},
        {"data_offsets": [0, 2**50]},
        {"dtype": ["F64"]},
        {"dtype": "O"},
        {"extra": 1},
    ):
        tracemalloc.start()
        refused(tmp_path / "m", joined({**header, name: {**header[name], **change}}, tree, arrays))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 10 * len(sound) + 10_000_000
    refused(tmp_path / "m", struct.pack("<Q", 2**40) + sound[8:])
    refused(tmp_path / "m", sound[:-1])
    refused(tmp_path / "m", sound + b"\0")


def test_arrays_lie_one_after_the_other_without_holes_and_without_overlaps(tmp_path: Path, sound: bytes) -> None:
    header, tree, arrays = parts(sound)
    names = sorted((key for key in header if key != "__metadata__"), key=lambda key: header[key]["data_offsets"])
    assert len(names) > 1
    for shift, more in ((8, b"\0" * 8), (-1, b"")):
        moved = dict(header)
        for name in names[1:]:
            begin, end = header[name]["data_offsets"]
            moved[name] = {**header[name], "data_offsets": [begin + shift, end + shift]}
        data = joined(moved, tree, more + arrays if shift > 0 else arrays[:shift])
        assert "overlaps or leaves a hole" in refused(tmp_path / "m", data)
    assert "belong to no array" in refused(tmp_path / "m", joined(header, tree, arrays + b"\0" * 8))


@pytest.mark.parametrize("many", ["[" + "0," * 5_000_000 + "0]", "[" + "{}," * 4_000_000 + "{}]", "[[" * 2_000_000])
def test_headers_of_very_many_values_are_refused_before_they_are_parsed(
    many: str, tmp_path: Path, sound: bytes
) -> None:
    header, _, arrays = parts(sound)
    hidden = json.dumps({**header, "__metadata__": {"softcount": many}}).encode()
    plain = b'{"__metadata__": ' + many.encode() + b"}"
    for text in (hidden, plain):
        data = struct.pack("<Q", len(text)) + text + arrays
        tracemalloc.start()
        assert "values; a model has at most 3,000,000" in refused(tmp_path / "m", data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 3 * len(data)


def test_a_model_that_no_file_could_hold_is_refused_when_it_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from softcount.persist import container

    monkeypatch.setattr(container, "MOST_VALUES", 50)
    with pytest.raises(InputError, match="Merge rare categories"):
        softcount.BernoulliNB().fit([[0, 1], [1, 0]], ["a", "b"]).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_name_given_twice_is_refused(tmp_path: Path, sound: bytes) -> None:
    (length,) = struct.unpack("<Q", sound[:8])
    text = sound[8 : 8 + length].rstrip()
    doubled = text[:-1] + b', "__metadata__": {"softcount": "{}"}}'
    assert "twice" in refused(tmp_path / "m", struct.pack("<Q", len(doubled)) + doubled + sound[8 + length :])


@pytest.mark.parametrize(
    "content",
    [
        {"class": "os.system", "fields": {"command": "true"}},
        {"class": "Popen", "fields": {}},
        {"type": "builtins.eval"},
        {"array": "nowhere"},
        {"int": "9" * 10_000},
        {"objects": {"dtype": "str", "shape": [3], "items": ["x" * 3_000_000, "", ""]}},
        {"objects": {"dtype": "object", "shape": [2**61], "items": []}},
        {"csr_array": {"data": [1], "indices": [5], "indptr": [0, 9], "shape": [1, 1]}},
        {"class": "Categorical", "fields": {"n_values": "x", "with_unseen": {}}},
        {"class": "MixtureModel", "fields": {}},
        {"unknown": 1},
    ],
    ids=lambda content: next(iter(content)),
)
def test_nothing_but_registered_classes_is_made(content: Any, tmp_path: Path, sound: bytes) -> None:
    header, tree, arrays = parts(sound)
    tree["content"]["dict"][1][1]["dict"].append(["planted_", content])
    if "objects" in content and content["objects"]["dtype"] == "str":
        content["objects"]["items"] = ["x" * 3_000_000] + [""] * 2_000_000
        content["objects"]["shape"] = [2_000_001]
    refused(tmp_path / "m", joined(header, tree, arrays))


def test_methods_cannot_be_replaced_by_a_file(tmp_path: Path, sound: bytes) -> None:
    header, tree, arrays = parts(sound)
    tree["content"]["dict"][1][1]["dict"].append(["predict", "x"])
    assert "predict" in refused(tmp_path / "m", joined(header, tree, arrays))


def test_damaged_files_are_refused_or_answer_without_a_crash(tmp_path: Path, sound: bytes) -> None:
    rng = np.random.default_rng(1)
    table = {"text": ["win prize"], "n": ["1"]}
    path = tmp_path / "m"
    tracemalloc.start()
    outcomes = [outcome_of(path, mutated(sound, rng)) for _ in range(3_000)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert set(outcomes) == {"refused", "loaded"}
    assert outcomes.count("refused") > 1_500
    assert peak < 10 * len(sound) + 100_000_000
    path.write_bytes(sound)
    assert softcount.load(path).predict(table).tolist() == ["a"]


@pytest.mark.parametrize("path", sorted(FROZEN.glob("*.softcount")), ids=lambda path: path.stem)
def test_damaged_files_of_every_kind_of_model_are_refused_or_answer(path: Path, tmp_path: Path) -> None:
    rng, sound = np.random.default_rng(2), path.read_bytes()
    outcomes = {outcome_of(tmp_path / "m", mutated(sound, rng)) for _ in range(150)}
    assert outcomes <= {"refused", "loaded"}


def test_loading_neither_imports_nor_runs_anything_dangerous(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "m"
    path.write_bytes(sound)
    softcount.load(path)
    seen: list[str] = []
    active = True

    def hook(event: str, _: Any) -> None:
        if active and event in ("pickle.find_class", "exec", "compile", "os.system", "subprocess.Popen", "import"):
            seen.append(event)

    sys.addaudithook(hook)
    softcount.load(path)
    active = False
    assert seen == []
