"""Fitted models as ONNX graphs, which run where there is no Python.

>>> from softcount import GaussianNB, export_onnx
>>> model = GaussianNB().fit([[-1.0], [-2.0], [1.0], [3.0]], ["a", "a", "b", "b"])
>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "model.onnx"
...     export_onnx(model, path)
...     path.stat().st_size > 0
True
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Any

from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._optional import need
from softcount._whole_file import whole_file

__all__ = ["export_onnx"]

#: The estimators with a graph: where it is made, and by which function.
GRAPHS = {
    **dict.fromkeys(
        (
            "BernoulliMixture",
            "BernoulliNB",
            "CategoricalMixture",
            "CategoricalNB",
            "ComplementNB",
            "GaussianDiscriminant",
            "GaussianMixture",
            "GaussianNB",
            "MultinomialMixture",
            "MultinomialNB",
            "PoissonMixture",
            "PoissonNB",
        ),
        ("classes", "generative"),
    ),
    "BayesianLinearRegression": ("linear", "bayesian_linear"),
    "GLM": ("linear", "glm"),
    "LogisticRegression": ("linear", "logistic"),
}
#: Estimators of tables with columns of different kinds, and what stands in for each.
OTHER_WAYS = {
    "LatentClass": "Code the answers as 0, 1, 2, ... and fit CategoricalMixture, the same model",
    "Mixture": "Fit GaussianMixture, CategoricalMixture, BernoulliMixture or PoissonMixture to columns of one kind",
    "NaiveBayes": "Fit GaussianNB, CategoricalNB, BernoulliNB or PoissonNB to columns of one kind",
}


def export_onnx(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to an ONNX file that gives the same answers (needs onnx).

    The graph takes ``X``, doubles of shape (n_rows, n_features) with NaN for missing cells. Classifiers and mixtures
    answer ``label`` (what ``predict`` gives) and ``probabilities`` (``predict_proba``), regressions ``prediction``.

    Where the estimator refuses a table, the graph refuses it too: an infinite cell, a negative count or code, or a
    missing cell in a linear model ends the run with an error about an index out of bounds, that of the label; of a
    regression the row's ``prediction`` is NaN. So does a missing cell under a tied or full covariance, which the
    estimator takes and the graph does not.

    Parameters
    ----------
    estimator : estimator
        A fitted softcount estimator of a table of numbers: naive Bayes, discriminant analysis, logistic regression,
        GLM, Bayesian linear regression, or a mixture of one family.
    path : str or path
        Where to; an existing file is replaced, and only by a whole one.
    """
    import softcount

    name = type(estimator).__name__
    if name not in GRAPHS or type(estimator) is not getattr(softcount, name):
        way = OTHER_WAYS.get(name, f"There are graphs for {', '.join(sorted(GRAPHS))}: fit one of them to numbers")
        raise InputError(
            f"{name} cannot be exported to ONNX: a graph takes a table of numbers that are all read alike. {way}."
        )
    check_is_fitted(estimator)
    need("onnx", "Exporting to ONNX", "'softcount[onnx]'")
    from softcount.persist.onnx.graph import Graph

    graph = Graph(estimator.n_features_in_)
    module, function = GRAPHS[name]
    getattr(import_module(f"softcount.persist.onnx.{module}"), function)(graph, estimator)
    facts = {"softcount": softcount.__version__, "estimator": name}
    if hasattr(estimator, "feature_names_in_"):
        facts["feature_names"] = json.dumps(list(map(str, estimator.feature_names_in_)), ensure_ascii=False)
    model = graph.model(facts, softcount.__version__)
    import_module("onnx.checker").check_model(model, full_check=True)
    with whole_file(path) as file:
        file.write(model.SerializeToString())
