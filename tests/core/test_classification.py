"""Information criteria are their formulas."""

import math

import pytest

from softcount.core.classification import information_criteria


def test_criteria_are_their_formulas():
    found = information_criteria(-100.0, 7, 50.0, 4.0)
    assert found["aic"] == 214.0
    assert found["bic"] == pytest.approx(200.0 + 7 * math.log(50))
    assert found["sabic"] == pytest.approx(200.0 + 7 * math.log(52 / 24))
    assert found["caic"] == pytest.approx(found["bic"] + 7)
    assert found["icl"] == pytest.approx(found["bic"] + 8.0)
    assert "icl" not in information_criteria(-100.0, 7, 50.0)
