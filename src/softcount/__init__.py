"""Counting, softly: naive Bayes, mixtures and linear models from complete, partial or missing labels.

Every public name is listed in ``_NAMES`` or ``_MODULES`` and loaded on first use, so that
``import softcount`` itself costs milliseconds: it imports neither NumPy nor SciPy nor scikit-learn.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> the module that defines it.
_NAMES = {
    "BayesianLinearRegression": "softcount.estimators.bayesian_linear",
    "BernoulliMixture": "softcount.estimators.mixture",
    "BernoulliNB": "softcount.estimators.naive_bayes",
    "CategoricalMixture": "softcount.estimators.mixture",
    "CategoricalNB": "softcount.estimators.naive_bayes",
    "ComplementNB": "softcount.estimators.naive_bayes",
    "GLM": "softcount.estimators.glm",
    "GaussianDiscriminant": "softcount.estimators.discriminant",
    "GaussianMixture": "softcount.estimators.gaussian_mixture",
    "GaussianNB": "softcount.estimators.naive_bayes",
    "LatentClass": "softcount.estimators.latent_class",
    "LogisticRegression": "softcount.estimators.logistic",
    "Mixture": "softcount.estimators.mixture",
    "MultinomialMixture": "softcount.estimators.mixture",
    "MultinomialNB": "softcount.estimators.naive_bayes",
    "NaiveBayes": "softcount.estimators.naive_bayes",
    "PoissonMixture": "softcount.estimators.mixture",
    "PoissonNB": "softcount.estimators.naive_bayes",
    "checkpoints": "softcount.persist.checkpoints",
    "class_effects": "softcount.explain.three_step",
    "class_outcomes": "softcount.explain.three_step",
    "compare_pair": "softcount.explain.compare",
    "export_onnx": "softcount.persist.onnx",
    "load": "softcount.persist",
    "plot_boundary": "softcount.explain.boundary",
    "plot_item_probabilities": "softcount.explain.mixtures",
    "plot_posteriors": "softcount.explain.mixtures",
    "plot_profiles": "softcount.explain.mixtures",
    "plot_ternary": "softcount.explain.mixtures",
    "save": "softcount.persist",
}

#: The estimators, which can be saved to and loaded from model files.
ESTIMATORS = tuple(name for name in _NAMES if name[0].isupper())

# Public submodule, as users spell it -> the module it is.
_MODULES = {
    "families": "softcount.families",
    "priors": "softcount.families.priors",
    "select": "softcount.select",
}

__all__ = list(_NAMES) + list(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        from difflib import get_close_matches

        near = get_close_matches(name, __all__, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module 'softcount' has no attribute {name!r}{hint}")
    # Kept, so that the next access is an ordinary attribute lookup.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
