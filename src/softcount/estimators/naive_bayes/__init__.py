"""Naive Bayes in every event model, learned from full, partial or no labels."""

from softcount.estimators.naive_bayes.bernoulli import BernoulliNB
from softcount.estimators.naive_bayes.categorical import CategoricalNB
from softcount.estimators.naive_bayes.complement import ComplementNB
from softcount.estimators.naive_bayes.gaussian import GaussianNB
from softcount.estimators.naive_bayes.mixed import NaiveBayes
from softcount.estimators.naive_bayes.multinomial import MultinomialNB
from softcount.estimators.naive_bayes.poisson import PoissonNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
]
