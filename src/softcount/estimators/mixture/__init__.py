"""Mixtures: components found in rows without labels, or with some."""

from softcount.estimators.mixture.bernoulli import BernoulliMixture
from softcount.estimators.mixture.categorical import CategoricalMixture
from softcount.estimators.mixture.mixed import Mixture
from softcount.estimators.mixture.multinomial import MultinomialMixture
from softcount.estimators.mixture.poisson import PoissonMixture

__all__ = ["BernoulliMixture", "CategoricalMixture", "Mixture", "MultinomialMixture", "PoissonMixture"]
