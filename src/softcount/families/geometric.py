"""The geometric family: how many failures come before the first success."""

from __future__ import annotations

import numpy as np

from softcount._types import FloatArray
from softcount.families._base import Params
from softcount.families.blocks import Block
from softcount.families.negative_binomial import FailureCounts

__all__ = ["Geometric"]


class Geometric(FailureCounts):
    r"""Geometric: :math:`p(x) = p (1-p)^x` for :math:`x = 0, 1, 2, \dots`, :math:`\eta = \log(1-p)`.

    :math:`x` counts the failures, so it starts at zero; whoever counts the trials subtracts one from every
    value.

    Examples
    --------
    >>> family = Geometric()
    >>> float(family.log_prob(2, family.parameters(0.5)).round(4))
    -2.0794
    """

    name = "geometric"

    def mean_log_base(self, params: Params) -> FloatArray:
        r"""Zero: :math:`h(x) = 1`."""
        return np.zeros(params["log_success"].shape)

    def row_base(self, block: Block) -> FloatArray | None:
        r"""None: :math:`h(x) = 1`."""
        return None
