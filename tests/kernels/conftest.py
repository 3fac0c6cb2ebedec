"""Every test of a kernel runs with NumPy and with each instruction-set level this processor has."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

HAS_NATIVE = find_spec("softcount.kernels._native") is not None
LEVELS = ("avx512", "avx2", "baseline", "plain")


@pytest.fixture(scope="module", params=["numpy", *LEVELS])
def kernels(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The kernels of one backend: a module with the functions of softcount.kernels."""
    if request.param == "numpy":
        yield import_module("softcount.kernels.fallback")
        return
    native = native_extension()
    if request.param not in native.levels():
        pytest.skip(f"this processor or build has no level {request.param!r}")
    before = native.level()
    native.use_level(request.param)
    yield import_module("softcount.kernels.native")
    native.use_level(before)


def native_extension() -> ModuleType:
    """The extension module, or skip the test."""
    if not HAS_NATIVE:
        pytest.skip("the compiled kernels are not installed")
    return import_module("softcount.kernels._native")
