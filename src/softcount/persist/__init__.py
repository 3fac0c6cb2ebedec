"""Model files without pickle: one file, checked before it is believed.

>>> import tempfile, pathlib
>>> from softcount import BernoulliNB, load
>>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["a", "b"])
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "model.softcount"
...     model.save(path)
...     load(path).predict([[1, 0]]).tolist()
['a']
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from softcount._errors import InputError
from softcount.persist.container import read_container, write_container
from softcount.persist.registry import (
    FORMAT,
    class_of,
    estimator_names,
    is_estimator,
    make_object,
    names_of_classes,
    skip_field,
)
from softcount.persist.soundness import check_sound
from softcount.persist.tree import flatten, rebuild

__all__ = ["load", "save"]

#: What putting together the parts of a damaged or forged file can raise.
_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file; the file appears whole or not at all.

    Parameters
    ----------
    estimator : estimator
        A softcount estimator.
    path : str or path
        Where to; an existing file is replaced.
    """
    if not is_estimator(estimator):
        raise InputError(
            f"{type(estimator).__name__} is no softcount estimator, so there is no model file for it. Pipelines and "
            "other libraries' estimators have savers of their own."
        )
    import softcount

    if hasattr(estimator, "_check_savable"):
        estimator._check_savable()
    params = estimator.get_params(deep=False)
    left_out = {*params, *getattr(estimator, "not_saved", ())}
    state = {name: value for name, value in vars(estimator).items() if name not in left_out}
    # A fitted model does not depend on the estimator it started from, which is not written with it.
    params = {name: None if is_estimator(value) else value for name, value in params.items()}
    tree, arrays = flatten({"params": params, "state": state}, names_of_classes(), skip_field)
    document = {
        "format": FORMAT,
        "softcount": softcount.__version__,
        "estimator": type(estimator).__name__,
        "content": tree,
    }
    write_container(path, document, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted estimator from a file written by ``save``.

    Parameters
    ----------
    path : str or path
        The file. It may come from anywhere: nothing in it is run, and no more memory is taken than the file is long.

    Returns
    -------
    estimator
        With the same predictions, bit for bit, on the same machine.
    """
    document, arrays = read_container(path)
    version = document.get("format")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise InputError(
            f"{os.fspath(path)!r} has the format {version!r}; this version of softcount reads formats 1 to {FORMAT}. "
            "Upgrade softcount to read it."
        )
    name = document.get("estimator")
    if name not in estimator_names():
        raise InputError(f"{os.fspath(path)!r} holds a {name!r}, which is no estimator of this version of softcount.")
    try:
        content = rebuild(document.get("content"), arrays, make_object, class_of)
        if not isinstance(content, dict):
            raise InputError(f"{os.fspath(path)!r} holds no estimator.")
        # Numbers that no fit gives are for check_sound to judge; what they lead to on the way there says nothing.
        with np.errstate(all="ignore"):
            return check_sound(_completed(make_object(name, content)))
    except InputError:
        raise
    except _FAULTS as error:
        raise InputError(
            f"{os.fspath(path)!r} is no sound softcount model: its parts do not fit together "
            f"({type(error).__name__}: {error})."
        ) from None


def _completed(estimator: Any) -> Any:
    """The estimator with what follows from its parameters made anew."""
    model, params = getattr(estimator, "model_", None), getattr(estimator, "params_", None)
    if model is not None and params is not None:
        blocks = tuple({name: np.asarray(a) for name, a in block.items()} for block in params.blocks)
        estimator.params_ = model.make_params(params.log_weights, blocks)
    return estimator
