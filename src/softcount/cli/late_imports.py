"""Libraries that scikit-learn imports at its start and that most commands never touch: loaded when they are touched.

``import sklearn`` imports ``scipy.stats`` and pandas only to have them at hand, and half of its time goes there. A
stand-in takes their places until somebody asks for something in them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["HEAVY", "import_late"]

#: What is imported late, with all that it imports itself.
HEAVY = ("scipy.stats", "pandas")

_lock = RLock()


class _StandIn(ModuleType):
    """Takes a module's place, and gives it back as soon as an attribute is asked for."""

    def __getattr__(self, attribute: str) -> Any:
        name = self.__name__
        with _lock:
            if sys.modules.get(name) is self:
                del sys.modules[name]
                try:
                    import_module(name)
                except BaseException:
                    # The next one who asks sees the same error.
                    sys.modules[name] = self
                    raise
        return getattr(sys.modules[name], attribute)


def import_late(*names: str) -> None:
    """Let these modules be imported when an attribute of them is asked for; those that are loaded stay.

    Parameters
    ----------
    *names : str
        Modules; one that is not installed is left alone, so that importing it fails as ever.
    """
    for name in names:
        if name in sys.modules:
            continue
        spec = _find(name)
        if spec is not None:
            stand_in = _StandIn(name)
            stand_in.__spec__ = spec
            sys.modules[name] = stand_in


def _find(name: str) -> ModuleSpec | None:
    """Where a module is, without importing the package it is in."""
    package, mark, _ = name.rpartition(".")
    if not mark:
        return find_spec(name)
    found = _find(package)
    places = None if found is None else found.submodule_search_locations
    return None if places is None else PathFinder.find_spec(name, places)
