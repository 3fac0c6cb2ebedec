"""The temperatures of an annealed fit, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from softcount._errors import InputError
from softcount.estimators._parameters import check_number

__all__ = ["check_annealing"]


def check_annealing(annealing: Any) -> None:
    """Refuse temperatures that log-densities cannot be divided by."""
    if annealing is None:
        return
    if isinstance(annealing, str) or not isinstance(annealing, Iterable):
        raise InputError(f"annealing is {annealing!r}; give a list of temperatures above 0, as [4, 2], or None.")
    for index, temperature in enumerate(annealing):
        check_number(f"annealing[{index}]", temperature, 0)
        if temperature == 0:
            raise InputError(f"annealing[{index}] is 0, but log-densities are divided by it; temperatures are above 0.")
