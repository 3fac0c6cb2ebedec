"""The families of generalized linear models, one per file."""

from __future__ import annotations

from softcount._errors import InputError
from softcount.core.glm.families._base import Evaluation, GLMFamily
from softcount.core.glm.families.binomial import BinomialFamily, QuasiBinomialFamily
from softcount.core.glm.families.gamma import GammaFamily
from softcount.core.glm.families.gaussian import GaussianFamily
from softcount.core.glm.families.inverse_gaussian import InverseGaussianFamily
from softcount.core.glm.families.negative_binomial import NegativeBinomialFamily
from softcount.core.glm.families.poisson import PoissonFamily, QuasiPoissonFamily
from softcount.core.glm.families.tweedie import TweedieFamily

__all__ = [
    "FAMILIES",
    "BinomialFamily",
    "Evaluation",
    "GLMFamily",
    "GammaFamily",
    "GaussianFamily",
    "InverseGaussianFamily",
    "NegativeBinomialFamily",
    "PoissonFamily",
    "QuasiBinomialFamily",
    "QuasiPoissonFamily",
    "TweedieFamily",
    "resolve_family",
]

FAMILIES: dict[str, type[GLMFamily]] = {
    family.name: family
    for family in (
        BinomialFamily,
        GammaFamily,
        GaussianFamily,
        InverseGaussianFamily,
        NegativeBinomialFamily,
        PoissonFamily,
        QuasiBinomialFamily,
        QuasiPoissonFamily,
        TweedieFamily,
    )
}

# Powers of the Tweedie family that are families of their own.
NAMED_POWERS: dict[float, str] = {0.0: "gaussian", 1.0: "quasipoisson", 2.0: "gamma", 3.0: "inverse_gaussian"}


def resolve_family(family: str | GLMFamily, *, theta: float = 1.0, power: float = 1.5) -> GLMFamily:
    """The family meant by a name, with ``theta`` or ``power`` where it has one; or the family itself.

    Examples
    --------
    >>> resolve_family("tweedie", power=1.7)
    TweedieFamily(power=1.7)
    >>> resolve_family("tweedie", power=2)
    GammaFamily()
    """
    if isinstance(family, GLMFamily):
        return family
    if "~" in str(family):
        raise InputError(
            f"{family!r} is a formula, not a family. Write GLM.from_formula({family!r}, table, family='gaussian')."
        )
    if family not in FAMILIES:
        raise InputError(
            f"family={family!r} is not a family. Expected one of {', '.join(sorted(FAMILIES))}, or a GLMFamily."
        )
    if family == "negative_binomial":
        return NegativeBinomialFamily(theta)
    if family == "tweedie" and float(power) not in NAMED_POWERS:
        return TweedieFamily(float(power))
    return FAMILIES[NAMED_POWERS[float(power)] if family == "tweedie" else family]()
