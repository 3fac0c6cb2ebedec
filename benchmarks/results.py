"""Outcomes in files: one JSON file for each workload, with the machine and the versions it was measured on."""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.measuring import Outcome

REPOSITORY = Path(__file__).resolve().parents[1]
#: Where results lie; git ignores it.
FOLDER = REPOSITORY / "out" / "benchmarks"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "stepmix", "glum", "pomegranate", "torch")


@dataclass
class Measured:
    """One workload's outcomes.

    Attributes
    ----------
    workload : str
    settings : dict
        Scale and threads.
    outcomes : list of Outcome
    error : str
        What the process said that broke down before there was an outcome.
    machine : dict
    """

    workload: str
    settings: dict[str, Any]
    outcomes: list[Outcome] = field(default_factory=list)
    error: str = ""
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the process or somebody in it failed."""
        return bool(self.error) or any(outcome.failed for outcome in self.outcomes)

    def save(self, folder: Path) -> None:
        """Write the file of this workload, over what an earlier run wrote."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            "workload": self.workload,
            "settings": self.settings,
            "machine": self.machine,
            "error": self.error,
            "outcomes": [outcome.as_dict() for outcome in self.outcomes],
        }
        (folder / f"{self.workload}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Measured:
        """What ``save`` wrote."""
        content = json.loads(path.read_text(encoding="utf-8"))
        content["outcomes"] = [Outcome.from_dict(outcome) for outcome in content["outcomes"]]
        return cls(**content)


def describe_machine() -> dict[str, Any]:
    """Processor, cores, and the versions of all that takes part."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()
