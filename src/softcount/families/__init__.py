"""The exponential families: distributions on their own, and models of a table's columns.

To add a family, write one file with one class and add one line to :data:`FAMILIES`.
"""

from softcount.families._base import Family, Params
from softcount.families.bernoulli import Bernoulli
from softcount.families.beta import Beta
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.families.categorical import Categorical
from softcount.families.columns import ColumnFamily, PseudoCounts
from softcount.families.dirichlet import Dirichlet
from softcount.families.exponential import Exponential
from softcount.families.gamma import Gamma
from softcount.families.gaussian import Gaussian
from softcount.families.gaussian_full import MultivariateGaussian
from softcount.families.geometric import Geometric
from softcount.families.inverse_gaussian import InverseGaussian
from softcount.families.moment_prior import MomentPrior
from softcount.families.multinomial import Multinomial
from softcount.families.negative_binomial import NegativeBinomial
from softcount.families.poisson import Poisson
from softcount.families.statistics import Moments, Statistics, Sums
from softcount.families.von_mises import VonMises

#: Every family by the name users write, e.g. ``NaiveBayes(families={"age": "gaussian"})``.
FAMILIES: dict[str, type[ColumnFamily]] = {
    family.name: family
    for family in (
        Bernoulli,
        Beta,
        Categorical,
        Dirichlet,
        Exponential,
        Gamma,
        Gaussian,
        Geometric,
        InverseGaussian,
        Multinomial,
        MultivariateGaussian,
        NegativeBinomial,
        Poisson,
        VonMises,
    )
}

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Beta",
    "Block",
    "Categorical",
    "CodesBlock",
    "ColumnFamily",
    "DenseBlock",
    "Dirichlet",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "Geometric",
    "InverseGaussian",
    "MomentPrior",
    "Moments",
    "Multinomial",
    "MultivariateGaussian",
    "NegativeBinomial",
    "Params",
    "Poisson",
    "PseudoCounts",
    "SparseBlock",
    "Statistics",
    "Sums",
    "VonMises",
]
