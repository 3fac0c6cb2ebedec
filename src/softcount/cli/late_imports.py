"""Libraries that scikit-learn imports at its start and that most commands never touch: loaded when they are touched.

``import sklearn`` imports ``scipy.stats``, pandas, narwhals and more only to have them at hand, and half of its time
goes there. Such a module is found and entered as ever, but what is in it is run only when something in it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["HEAVY", "import_late"]

#: What is imported late, with all that it imports itself.
HEAVY = (
    "asyncio",
    "narwhals",
    "narwhals.stable",
    "narwhals.stable.v2",
    "numpy.ctypeslib",
    "numpy.f2py",
    "numpy.ma",
    "numpy.testing",
    "pandas",
    "scipy.special",
    "scipy.stats",
    "sklearn.externals.array_api_compat.numpy",
    "sklearn.externals.array_api_extra",
)

#: One for each late module: who runs its code waits for no other's.
_locks: dict[str, RLock] = {}
#: Modules whose code is running, in the thread that has their lock.
_running: set[str] = set()


class _LateModule(ModuleType):
    """A module that runs its own code when an attribute of it is asked for that is not there yet."""

    def __getattr__(self, attribute: str) -> Any:
        with _locks[self.__name__]:
            # Another thread may have been first; and its own code may ask for what is not there.
            if type(self) is _LateModule and self.__name__ not in _running:
                _run(self)
            return ModuleType.__getattribute__(self, attribute)


def _run(module: _LateModule) -> None:
    """Run the module's own code."""
    loader: Any = module.__loader__
    _running.add(module.__name__)
    try:
        loader.loader.exec_module(module)
        # What it is from now on; where its code failed, the next one who asks sees the same error.
        module.__class__ = ModuleType  # type: ignore[assignment]  # which it began as
    finally:
        _running.discard(module.__name__)


class _LateLoader:
    """Enters a module whose code the loader it wraps will run."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module; the import system enters its name and place."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing yet: from now on it waits to be asked."""
        _locks[module.__name__] = RLock()
        module.__class__ = _LateModule

    def __getattr__(self, attribute: str) -> Any:
        # Files beside a module, and its source, are asked of its loader.
        return getattr(self.loader, attribute)


class _LateFinder:
    """Finds modules of some names where they are, and has them loaded late."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Where a module is; None where it is not to be late."""
        spec: Any = PathFinder.find_spec(fullname, path, target) if fullname in self.names else None
        if spec is not None and spec.loader is not None:
            spec.loader = _LateLoader(spec.loader)
        return spec


_finder = _LateFinder()


def import_late(*names: str) -> None:
    """Let these modules run their code when an attribute of them is asked for; those that are loaded stay.

    Parameters
    ----------
    *names : str
        Modules; one that is not installed is not found, as ever.
    """
    _finder.names.update(names)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
