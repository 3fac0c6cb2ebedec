"""A process that does the work of softcount in one workload whenever it is told to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measuring import Setting
from benchmarks.results import REPOSITORY


class NothingToCompare(Exception):  # noqa: N818  (says what happened; the caller decides what it means)
    """The other process cannot be made, or does not work."""


class Worker:
    """A process that does one workload with the package in one folder, a turn at a time.

    Parameters
    ----------
    workload : str
    setting : Setting
    src : Path
        The folder.
    environment : dict, optional
        Further variables of the process.
    """

    def __init__(self, workload: str, setting: Setting, src: Path, environment: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "benchmarks.worker", "serve", workload]
        command += ["--scale", str(setting.scale), "--threads", str(setting.threads)]
        # A file, because nobody reads a pipe while the process works.
        self.complaint = tempfile.TemporaryFile("w+")  # noqa: SIM115  (closed with the process)
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(src), **(environment or {})}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaint,
        )  # fmt: skip
        self.hello: dict[str, Any] = self._answer()
        if Path(self.hello["package"]) != src / "softcount":
            self.close()
            raise NothingToCompare(f"{self.hello['package']} was imported in place of {src / 'softcount'}.")

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.complaint.seek(0)
            raise NothingToCompare(last_line(self.complaint.read()))
        return json.loads(line)

    def turn(self, contest: int) -> float:
        """Seconds of one turn."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{contest}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
        self.complaint.close()


def last_line(text: str) -> str:
    """The last thing somebody said."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it said nothing"
