"""The classes a model file may hold, by name. Nothing else is ever made from a file."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

from softcount._errors import InputError

__all__ = ["class_of", "is_estimator", "make_object", "names_of_classes", "skip_field"]

#: Version of the format. Files of all earlier versions stay readable.
FORMAT = 1


@cache
def value_classes() -> dict[str, type]:
    """What fitted estimators are made of."""
    from softcount.core.calibration import Calibration
    from softcount.core.counts import Counts
    from softcount.core.iterate import Step
    from softcount.core.mixture import MixtureModel, MixtureParams
    from softcount.core.verdict import Verdict
    from softcount.estimators._columns import ColumnPlan, TablePlan
    from softcount.families import FAMILIES
    from softcount.families.columns import PseudoCounts
    from softcount.families.gaussian import MomentPrior
    from softcount.families.statistics import Moments, Sums

    plain = [
        Calibration,
        ColumnPlan,
        Counts,
        MixtureModel,
        MixtureParams,
        MomentPrior,
        Moments,
        PseudoCounts,
        Step,
        Sums,
        TablePlan,
        Verdict,
    ]
    found: dict[str, type] = {cls.__name__: cls for cls in plain}
    found.update({cls.__name__: cls for cls in FAMILIES.values()})
    return found


def names_of_classes() -> dict[type, str]:
    """Names in files by class."""
    return {cls: name for name, cls in value_classes().items()}


def skip_field(cls: type, field: str) -> bool:
    """Fields that follow from others: prepared tables, which are made anew."""
    return cls.__name__ == "MixtureParams" and field == "scorers"


def class_of(name: str) -> type:
    """A registered class."""
    import softcount

    if name in softcount.ESTIMATORS:
        return estimator_class(name)
    found = value_classes().get(name)
    if found is None:
        raise InputError(
            f"The model file holds a {name!r}, which this version of softcount does not know. It may come from a newer "
            "version: upgrade softcount."
        )
    return found


def estimator_class(name: str) -> type:
    """The estimator of that public name."""
    import softcount

    found: type = getattr(softcount, name)
    return found


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator that can be saved."""
    import softcount

    name = type(value).__name__
    return name in softcount.ESTIMATORS and type(value) is estimator_class(name)


def make_object(name: str, fields: dict[str, Any]) -> Any:
    """An instance of a registered class with these fields."""
    import softcount

    cls = class_of(name)
    if name in softcount.ESTIMATORS:
        return _make_estimator(cls, fields)
    known: set[str]
    if dataclasses.is_dataclass(cls):
        known = {field.name for field in dataclasses.fields(cls)}
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
