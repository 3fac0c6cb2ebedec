"""What a library outside the core install is needed for is said where it is absent."""

import importlib.util

import numpy as np
import pytest

import softcount
from softcount import _optional
from softcount._optional import MissingLibraryError, need


@pytest.fixture
def core_install(monkeypatch):
    def found(name):
        return None if name in ("pandas", "matplotlib", "formulaic", "pyarrow") else importlib.util.find_spec(name)

    monkeypatch.setattr(_optional, "find_spec", found)


def test_a_library_that_is_there_is_no_matter():
    need("numpy", "Everything")


def test_an_absent_library_is_asked_for_by_name():
    with pytest.raises(MissingLibraryError, match=r"^Smoke needs no_such_library, .*: pip install no_such_library\.$"):
        need("no_such_library", "Smoke")
    with pytest.raises(ImportError, match=r"pip install 'softcount\[smoke\]'\.$"):
        need("no_such_library", "Smoke", "'softcount[smoke]'")


@pytest.mark.usefixtures("core_install")
def test_answers_that_need_a_library_name_it_and_say_how_to_get_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    logistic = softcount.LogisticRegression().fit(X, y)
    assert "estimate" in str(logistic.summary())
    with pytest.raises(MissingLibraryError, match="data frame needs pandas"):
        logistic.summary().frame()
    with pytest.raises(MissingLibraryError, match=r"plot needs matplotlib.*softcount\[plot\]"):
        softcount.plot_boundary(softcount.GaussianNB().fit(X, y), X, y)
    with pytest.raises(MissingLibraryError, match=r"formula needs formulaic.*softcount\[formula\]"):
        softcount.GLM.from_formula("y ~ x", {"y": y, "x": X[:, 0]})
    with pytest.raises(MissingLibraryError, match="Parquet files needs pyarrow"):
        softcount.GaussianNB().fit("rows.parquet", "y")
