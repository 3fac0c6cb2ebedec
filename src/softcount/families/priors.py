r"""Explicit conjugate priors, and how they relate to smoothing.

Every fit here solves for parameters from the data's statistics plus those of a prior (:class:`PseudoCounts`, or
:class:`MomentPrior` for Gaussians). The classes of this module are the densities behind such priors, and
:meth:`~ConjugatePrior.pseudo_counts` converts them. For counts :math:`N_v` of values with :math:`N = \sum_v N_v`:

=========================================  ==================================================  ========================
what is asked for                          the estimate                                        pseudo-count of a value
=========================================  ==================================================  ========================
smoothing with ``alpha``                   :math:`(N_v + \alpha) / (N + \alpha V)`             :math:`\alpha`
posterior mean under Dirichlet(c)          :math:`(N_v + c) / (N + c V)`                       :math:`c`
posterior mode (MAP) under Dirichlet(c)    :math:`(N_v + c - 1) / (N + (c - 1) V)`             :math:`c - 1`
=========================================  ==================================================  ========================

So smoothing with ``alpha`` is the posterior mean under Dirichlet(alpha) and the mode under Dirichlet(alpha + 1), and
Laplace's add-one rule is the mean under the uniform prior. The same holds for a Beta prior of a Bernoulli probability
and a gamma prior of a rate. For a variance mode and mean differ in the rows they add to the divisor.
"""

from softcount.families.columns import PseudoCounts
from softcount.families.conjugate import ConjugatePrior
from softcount.families.count_priors import Beta, Dirichlet, Gamma
from softcount.families.moment_prior import MomentPrior
from softcount.families.normal_priors import NormalInverseGamma, NormalInverseWishart

__all__ = [
    "Beta",
    "ConjugatePrior",
    "Dirichlet",
    "Gamma",
    "MomentPrior",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "PseudoCounts",
]
