"""The classes a model file may hold, by name. Nothing else is ever made from a file."""

from __future__ import annotations

import dataclasses
import inspect
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


@cache
def value_classes() -> dict[str, type]:
    """What fitted estimators are made of, by the name it has in files."""
    from softcount.core.calibration import Calibration
    from softcount.core.classification import Classification
    from softcount.core.counts import Counts
    from softcount.core.glm import families as glm_families
    from softcount.core.glm import links
    from softcount.core.glm.model import GLMParams
    from softcount.core.goodness import Goodness
    from softcount.core.iterate import Step
    from softcount.core.logistic.gradient import Momentum
    from softcount.core.logistic.model import LogisticState
    from softcount.core.logistic.quasi_newton import Memory, Pair
    from softcount.core.membership import Membership, MembershipCounts
    from softcount.core.mixture import MixtureModel, MixtureParams
    from softcount.core.orthogonal import TriangularFactor
    from softcount.core.verdict import Verdict
    from softcount.estimators._columns import ColumnPlan, TablePlan
    from softcount.estimators.glm.design import DesignColumn, DesignFactor, FormulaDesign
    from softcount.estimators.glm.formula import FormulaFit
    from softcount.estimators.latent_class.covariates import Covariates
    from softcount.estimators.table.evaluation import Evaluation, Reliability
    from softcount.estimators.table.settings import Setting
    from softcount.estimators.table.text import TextCounter, TextOptions, Vocabulary
    from softcount.estimators.table.treatment import Treatment
    from softcount.families import FAMILIES, priors
    from softcount.families.columns import ColumnFamily
    from softcount.families.statistics import Moments, Sums
    from softcount.inputs.roles import ColumnRole

    plain = [
        Calibration,
        Classification,
        ColumnPlan,
        ColumnRole,
        Counts,
        Covariates,
        DesignColumn,
        DesignFactor,
        Evaluation,
        FormulaDesign,
        FormulaFit,
        GLMParams,
        Goodness,
        LogisticState,
        Memory,
        Membership,
        MembershipCounts,
        MixtureModel,
        MixtureParams,
        Moments,
        Momentum,
        Pair,
        priors.MomentPrior,
        priors.PseudoCounts,
        Reliability,
        Setting,
        Step,
        Sums,
        TablePlan,
        TextCounter,
        TextOptions,
        Treatment,
        TriangularFactor,
        Verdict,
        Vocabulary,
    ]
    found: dict[str, type] = {cls.__name__: cls for cls in plain}
    # The families users name, and those that estimators use beside them.
    found.update({cls.__name__: cls for cls in (*own_subclasses(ColumnFamily), *FAMILIES.values())})
    # Some priors, families of linear models and links share their names with distributions.
    densities = (priors.Beta, priors.Dirichlet, priors.Gamma, priors.NormalInverseGamma, priors.NormalInverseWishart)
    found.update({f"prior.{cls.__name__}": cls for cls in densities})
    found.update({f"glm.{cls.__name__}": cls for cls in glm_families.FAMILIES.values()})
    found.update({f"link.{cls.__name__}": cls for cls in map(type, links.LINKS.values())})
    return found


def own_subclasses(cls: type[Any]) -> list[type[Any]]:
    """Subclasses that softcount itself defines, at any depth, and that can be made."""
    found: list[type[Any]] = []
    for child in cls.__subclasses__():
        if child.__module__.startswith("softcount.") and not inspect.isabstract(child):
            found.append(child)
        found.extend(own_subclasses(child))
    return found


def names_of_classes() -> dict[type, str]:
    """Names in files by class."""
    return {cls: name for name, cls in value_classes().items()}


def skip_field(cls: type, field: str) -> bool:
    """Fields that follow from others and are made anew, or that only memory can hold."""
    return (cls.__name__, field) in {
        ("MixtureParams", "scorers"),
        ("TextCounter", "_prepared"),
        ("FormulaFit", "spec"),
    }


def class_of(name: str) -> type:
    """A registered class."""
    if name in estimator_names():
        return estimator_class(name)
    found = value_classes().get(name)
    if found is None:
        raise InputError(
            f"The model file holds a {name!r}, which this version of softcount does not know. It may come from a newer "
            "version: upgrade softcount."
        )
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
