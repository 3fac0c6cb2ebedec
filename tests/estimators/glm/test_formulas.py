"""Columns that formulas find in data frames: texts of every type, and dates."""

import numpy as np
import pandas as pd
import pytest

from softcount import GLM

pytest.importorskip("formulaic")


def frame():
    rng = np.random.default_rng(0)
    table = {"y": rng.poisson(2.0, 60), "kind": np.array(["u", "v", "w"])[np.arange(60) % 3], "x": rng.normal(size=60)}
    return pd.DataFrame({**table, "kind": table["kind"].astype(object)})


@pytest.mark.parametrize("dtype", ["string", pd.StringDtype("python", na_value=np.nan), "category"])
def test_texts_of_every_type_are_categories(dtype):
    data = frame()
    plain = GLM.from_formula("y ~ x + kind", data, family="poisson")
    typed = data.assign(kind=data["kind"].astype(dtype))
    model = GLM.from_formula("y ~ x + kind", typed, family="poisson")
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(typed[5:9]), plain.predict(data)[5:9])


def test_dates_are_refused_by_name_unless_they_are_made_numbers():
    data = frame().assign(when=pd.date_range("2026-01-01", periods=60))
    with pytest.raises(ValueError, match=r"'when' holds dates or times .*days since a date"):
        GLM.from_formula("y ~ x + when", data, family="poisson")
    model = GLM.from_formula("y ~ x + I(when.dt.month)", data, family="poisson")
    assert len(model.coef_) == 2
