"""Which kernels serve, and what is said about it."""

import json
import os
import subprocess
import sys

import pytest

from tests.kernels.conftest import HAS_NATIVE, native_extension

PROGRAM = """
import json, sys, warnings
{before}
with warnings.catch_warnings(record=True) as at_import:
    warnings.simplefilter("always")
    from softcount import kernels
import numpy as np
with warnings.catch_warnings(record=True) as at_use:
    warnings.simplefilter("always")
    for _ in range(2):
        kernels.dense_scores(np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
        kernels.normalize_rows(np.zeros((1, 2)), None, np.zeros(2), None)
print(json.dumps([kernels.backend(), [str(w.message) for w in at_import],
                  [[w.category.__name__, str(w.message), w.filename] for w in at_use]]))
"""
# What the import system does where the package was installed without a compiler.
WITHOUT_EXTENSION = """
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.endswith("._native") else find_spec(name, *rest)
"""


def run(choice, before=""):
    """Backend, warnings at import and warnings at use, in a fresh interpreter."""
    environment = {key: value for key, value in os.environ.items() if key != "SOFTCOUNT_KERNELS"}
    if choice is not None:
        environment["SOFTCOUNT_KERNELS"] = choice
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("choice", [None, "auto", "native"])
def test_compiled_kernels_serve_silently_where_there_are_any(choice):
    native_extension()
    assert run(choice) == ["native", [], []]


def test_numpy_serves_silently_where_it_was_asked_for():
    assert run("numpy") == ["numpy", [], []]


def test_numpy_standing_in_for_a_missing_extension_says_so_once_and_only_when_used():
    name, at_import, at_use = run(None, WITHOUT_EXTENSION)
    assert (name, at_import) == ("numpy", [])
    [(category, message, filename)] = at_use
    assert category == "KernelFallbackWarning"
    assert "SOFTCOUNT_KERNELS=numpy" in message
    assert filename == "<string>"


@pytest.mark.parametrize(
    ("choice", "before", "message"),
    [("fast", "", "expected 'auto', 'native' or 'numpy'"), ("native", WITHOUT_EXTENSION, "are not installed")],
)
def test_a_choice_that_cannot_be_met_is_an_error_that_says_what_to_do(choice, before, message):
    with pytest.raises(AssertionError, match=message):
        run(choice, before)


def test_both_backends_have_the_same_functions_with_the_same_parameters():
    native_extension()
    import inspect

    from softcount.kernels import fallback, native

    assert native.__all__ == fallback.__all__
    for name in fallback.__all__:
        parameters = inspect.signature(getattr(fallback, name)).parameters
        assert list(inspect.signature(getattr(native, name)).parameters) == list(parameters)


def test_the_best_level_is_in_use_and_others_can_be_chosen():
    native = native_extension()
    best = native.levels()[0]
    assert native.level() == best
    try:
        native.use_level("plain")
        assert native.level() == "plain"
    finally:
        native.use_level(best)
    with pytest.raises(ValueError, match="no level 'abacus'"):
        native.use_level("abacus")


@pytest.mark.skipif(not HAS_NATIVE, reason="the compiled kernels are not installed")
def test_the_first_call_after_import_needs_no_compilation_or_further_modules():
    program = (
        "import sys; import numpy as np; from softcount import kernels; before = set(sys.modules);"
        "kernels.dense_scores(np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)));"
        "print(sorted(set(sys.modules) - before), 'scipy' in sys.modules)"
    )
    environment = {**os.environ, "SOFTCOUNT_KERNELS": "native"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["[]", "False"]
