"""The exponential families: distributions on their own, and models of a table's columns.

To add a family, write one file with one class and add one line to :data:`FAMILIES`.
"""

from softcount.families._base import Family, Params
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.families.categorical import Categorical
from softcount.families.columns import ColumnFamily, PseudoCounts
from softcount.families.gaussian import Gaussian, MomentPrior
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.multinomial import Multinomial
from softcount.families.poisson import Poisson
from softcount.families.statistics import Moments, Statistics, Sums

#: Every family by the name users write, e.g. ``NaiveBayes(families={"age": "gaussian"})``.
FAMILIES: dict[str, type[ColumnFamily]] = {
    family.name: family
    for family in (Bernoulli, Categorical, Gaussian, Multinomial, MultivariateGaussian, Poisson)
}

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Block",
    "Categorical",
    "CodesBlock",
    "ColumnFamily",
    "DenseBlock",
    "Family",
    "Gaussian",
    "MomentPrior",
    "Moments",
    "Multinomial",
    "MultivariateGaussian",
    "Params",
    "Poisson",
    "PseudoCounts",
    "SparseBlock",
    "Statistics",
    "Sums",
]
