"""`import softcount` is quick because the heavy libraries load with the first name that needs them."""

import json
import subprocess
import sys

import pytest

import softcount

HEAVY = {"numpy", "scipy", "sklearn", "pandas", "polars", "pyarrow", "narwhals", "matplotlib", "dask", "rich"}


def modules_loaded_by(statement: str) -> set[str]:
    """Top-level packages that `statement` loads in a fresh interpreter."""
    program = (
        "import json, sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "print(json.dumps(sorted({m.partition('.')[0] for m in set(sys.modules) - before})))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_importing_the_package_loads_no_heavy_library():
    loaded = modules_loaded_by("import softcount")
    assert "softcount" in loaded
    assert not loaded & HEAVY


def test_listing_the_public_names_loads_no_heavy_library():
    assert not modules_loaded_by("import softcount; dir(softcount)") & HEAVY


def test_logistic_regression_loads_no_other_linear_model():
    program = "import sys; from softcount import LogisticRegression; print('sklearn.linear_model' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("name", softcount.__all__)
def test_every_public_name_resolves(name):
    assert getattr(softcount, name) is not None
    assert name in dir(softcount)


def test_public_classes_and_functions_have_a_docstring():
    without = [name for name in softcount.__all__ if not getattr(softcount, name).__doc__]
    assert without == []


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="has no attribute 'BernouliNB'"):
        _ = softcount.BernouliNB


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert softcount.__version__ == version("softcount")
