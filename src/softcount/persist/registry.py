"""The classes a model file may hold, by name. Nothing else is ever made from a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from softcount._errors import InputError

__all__ = ["class_of", "estimator_names", "is_estimator", "make_object", "names_of_classes", "skip_field"]

#: Version of the format. Files of all earlier versions stay readable.
FORMAT = 1


#: Estimators that are not among the public names, and the module that defines each.
OTHER_ESTIMATORS = {
    "TableClassifier": "softcount.estimators.table",
    "TableLatentClass": "softcount.estimators.table.groups",
    "TableMixture": "softcount.estimators.table.groups",
}


#: What fitted estimators are made of: modules of softcount, and the classes of each that a file may hold.
VALUES = {
    "core.calibration": ("Calibration",),
    "core.classification": ("Classification",),
    "core.counts": ("Counts",),
    "core.glm.families.binomial": ("BinomialFamily", "QuasiBinomialFamily"),
    "core.glm.families.gamma": ("GammaFamily",),
    "core.glm.families.gaussian": ("GaussianFamily",),
    "core.glm.families.inverse_gaussian": ("InverseGaussianFamily",),
    "core.glm.families.negative_binomial": ("NegativeBinomialFamily",),
    "core.glm.families.poisson": ("PoissonFamily", "QuasiPoissonFamily"),
    "core.glm.families.tweedie": ("TweedieFamily",),
    "core.glm.links": ("Cauchit", "CLogLog", "Identity", "Inverse", "Log", "Logit", "LogLog", "Power", "Probit"),
    "core.glm.model": ("GLMParams",),
    "core.goodness": ("Goodness",),
    "core.iterate": ("Step",),
    "core.logistic.gradient": ("Momentum",),
    "core.logistic.model": ("LogisticState",),
    "core.logistic.quasi_newton": ("Memory", "Pair"),
    "core.membership": ("Membership", "MembershipCounts"),
    "core.mixture": ("MixtureModel",),
    "core.parameters": ("MixtureParams",),
    "core.orthogonal": ("TriangularFactor",),
    "core.verdict": ("Verdict",),
    "estimators._columns": ("ColumnPlan", "TablePlan"),
    "estimators.glm.design": ("DesignColumn", "DesignFactor", "FormulaDesign"),
    "estimators.glm.formula": ("FormulaFit",),
    "estimators.latent_class.covariates": ("Covariates",),
    "estimators.table.evaluation": ("Evaluation", "Reliability"),
    "estimators.table.settings": ("Setting",),
    "estimators.table.text": ("TextCounter", "TextOptions", "Vocabulary"),
    "estimators.table.treatment": ("Treatment",),
    "families.bernoulli": ("Bernoulli",),
    "families.beta": ("Beta",),
    "families.categorical": ("Categorical",),
    "families.columns": ("PseudoCounts",),
    "families.count_priors": ("Beta", "Dirichlet", "Gamma"),
    "families.dirichlet": ("Dirichlet",),
    "families.exponential": ("Exponential",),
    "families.gamma": ("Gamma",),
    "families.gaussian": ("Gaussian",),
    "families.gaussian_full": ("MultivariateGaussian",),
    "families.geometric": ("Geometric",),
    "families.inverse_gaussian": ("InverseGaussian",),
    "families.moment_prior": ("MomentPrior",),
    "families.multinomial": ("Multinomial", "SeenWords"),
    "families.negative_binomial": ("FailureCounts", "NegativeBinomial"),
    "families.normal_priors": ("NormalInverseGamma", "NormalInverseWishart"),
    "families.poisson": ("Poisson",),
    "families.statistics": ("Moments", "Sums"),
    "families.von_mises": ("VonMises",),
    "inputs.roles": ("ColumnRole",),
}
#: Some priors, families of linear models and links share their names with distributions.
PREFIXES = {
    "families.count_priors": "prior.",
    "families.normal_priors": "prior.",
    "core.glm.families": "glm.",
    "core.glm.links": "link.",
}


@cache
def value_names() -> dict[str, tuple[str, str]]:
    """Module and name of every class in :data:`VALUES`, by the name it has in files."""
    found = {}
    for module, names in VALUES.items():
        prefix = PREFIXES.get(module) or PREFIXES.get(module.rpartition(".")[0], "")
        found.update({prefix + name: (f"softcount.{module}", name) for name in names})
    return found


class _NamesOfClasses(Mapping[type, str]):
    """Names in files by class; no module is imported to look one up."""

    def __init__(self) -> None:
        self._names = {place: name for name, place in value_names().items()}

    def __getitem__(self, cls: type) -> str:
        return self._names[cls.__module__, cls.__name__]

    def __iter__(self) -> Iterator[type]:
        return map(class_of, self._names.values())

    def __len__(self) -> int:
        return len(self._names)


def names_of_classes() -> Mapping[type, str]:
    """Names in files by class."""
    return _NamesOfClasses()


def skip_field(cls: type, field: str) -> bool:
    """Fields that follow from others and are made anew, or that only memory can hold."""
    return (cls.__name__, field) in {
        ("MixtureParams", "scorers"),
        ("MixtureParams", "source"),
        ("TextCounter", "_prepared"),
        ("FormulaFit", "spec"),
    }


def class_of(name: str) -> type:
    """A registered class."""
    if name in estimator_names():
        return estimator_class(name)
    place = value_names().get(name)
    if place is None:
        raise InputError(
            f"The model file holds a {name!r}, which this version of softcount does not know. It may come from a newer "
            "version: upgrade softcount."
        )
    found: type = getattr(import_module(place[0]), place[1])
    return found


def estimator_class(name: str) -> type:
    """The estimator of that name."""
    import softcount

    if name in OTHER_ESTIMATORS:
        found: type = getattr(import_module(OTHER_ESTIMATORS[name]), name)
        return found
    try:
        found = getattr(softcount, name)
    except ImportError:
        raise InputError(f"The model file holds a {name}, which this version of softcount does not have.") from None
    return found


def estimator_names() -> tuple[str, ...]:
    """The estimators that a model file may hold."""
    import softcount

    return (*softcount.ESTIMATORS, *OTHER_ESTIMATORS)


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator that can be saved."""
    name = type(value).__name__
    return name in estimator_names() and type(value) is estimator_class(name)


def make_object(name: str, fields: dict[str, Any]) -> Any:
    """An instance of a registered class with these fields."""
    cls = class_of(name)
    if name in estimator_names():
        return _make_estimator(cls, fields)
    known: set[str]
    if dataclasses.is_dataclass(cls):
        known = {field.name for field in dataclasses.fields(cls) if field.init}
    else:
        known = set(getattr(cls, "_fields", ()))
    unknown = sorted(set(fields) - known)
    if unknown:
        raise InputError(f"The model file gives a {name} the fields {unknown}, which it does not have.")
    try:
        return cls(**fields)
    except (TypeError, ValueError) as error:
        raise InputError(f"The model file holds a malformed {name}: {error}.") from None


def _make_estimator(cls: Any, fields: dict[str, Any]) -> Any:
    params = fields.pop("params", None)
    state = fields.pop("state", None)
    if not isinstance(params, dict) or not isinstance(state, dict) or fields:
        raise InputError(f"The model file holds a malformed {cls.__name__}.")
    allowed = set(cls._get_param_names())
    unknown = sorted(str(name) for name in params if name not in allowed)
    if unknown:
        raise InputError(f"The model file gives {cls.__name__} the parameters {unknown}, which it does not have.")
    estimator = cls(**params)
    for name, value in state.items():
        if (
            not isinstance(name, str)
            or not name.isidentifier()
            or name.startswith("__")
            or callable(getattr(cls, name, None))
        ):
            raise InputError(f"The model file sets the attribute {name!r}, which no fitted {cls.__name__} has.")
        estimator.__dict__[name] = value
    return estimator
