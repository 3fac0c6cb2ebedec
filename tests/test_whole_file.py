"""Files appear whole or not at all, whatever ends the writing."""

import errno
import os
from pathlib import Path

import pytest

from softcount._whole_file import whole_file


def test_a_file_has_its_name_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "model.bin"
    with whole_file(target) as file:
        file.write(b"half")
        file.flush()
        assert not target.exists()
        file.write(b" and half")
    assert target.read_bytes() == b"half and half"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left"), ValueError("no")])
def test_whatever_ends_the_writing_early_leaves_the_earlier_file_alone(tmp_path: Path, failure: BaseException) -> None:
    target = tmp_path / "model.bin"
    target.write_bytes(b"earlier")

    def write_and_fail() -> None:
        with whole_file(target) as file:
            file.write(b"new")
            raise failure

    with pytest.raises(type(failure)):
        write_and_fail()
    assert target.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failing_system_call_leaves_the_earlier_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    target = tmp_path / "model.bin"
    target.write_bytes(b"earlier")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os if step == "fsync" else Path, step, fail)
    with pytest.raises(OSError, match="Input/output error"), whole_file(target) as file:
        file.write(b"new")
    monkeypatch.undo()
    assert target.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interruption_right_after_the_file_came_to_be_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_open = Path.open

    def interrupted(self: Path, mode: str = "r", **options: object) -> object:
        really_open(self, mode).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "open", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "model.bin"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_of_the_earlier_file_and_links_to_it_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "model.bin", tmp_path / "link.bin"
    target.write_bytes(b"earlier")
    target.chmod(0o640)
    link.symlink_to(target)
    with whole_file(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_a_device_is_written_to_and_not_replaced() -> None:
    with whole_file(os.devnull) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()
