"""What ``help`` says of an estimator is complete: every parameter, every attribute, an equation and an example."""

import inspect
import re

import numpy as np
import pytest

import softcount
from softcount.select import BootstrapTest, Selection

ESTIMATORS = [getattr(softcount, name) for name in softcount.ESTIMATORS]
SECTION = r"^{}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)"
#: What scikit-learn gives every estimator.
INHERITED = {"get_params", "set_params", "get_metadata_routing", "fit_transform", "get_feature_names_out"}

#: Attributes of some fits only: of negative binomial models, and of latent classes with covariates.
SOMETIMES = {"theta_", "class_coefficients_", "coefficient_names_"}


def section(thing, title):
    """The lines of a section of a docstring that name something, without the indented ones that explain it."""
    found = re.search(SECTION.format(title), inspect.getdoc(thing), flags=re.MULTILINE | re.DOTALL)
    return [] if found is None else [line for line in found[1].splitlines() if line and not line.startswith(" ")]


def names(lines):
    return {name.strip().lstrip("*") for line in lines for name in line.partition(" : ")[0].split(",")}


def fitted(estimator):
    """The estimator, fitted to rows of which some lack a label where it can use such rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 3)).astype(float)
    classes = np.array(["a", "b"], dtype=object)[rng.integers(2, size=60)]
    if estimator in (softcount.GLM, softcount.BayesianLinearRegression):
        return estimator().fit(X, rng.normal(size=60))
    if hasattr(estimator, "fit_predict"):
        return estimator(2, random_state=0).fit(X)
    if estimator not in (softcount.ComplementNB, softcount.LogisticRegression):
        classes[::3] = None
    return estimator().fit(X, classes)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_of_a_constructor_is_documented_and_no_other(estimator):
    assert names(section(estimator, "Parameters")) == set(inspect.signature(estimator).parameters)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_attribute_that_fit_sets_is_documented_and_no_other(estimator):
    model = fitted(estimator)
    given = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    computed = {
        name
        for name, value in inspect.getmembers(estimator)
        if isinstance(value, property) and name.endswith("_") and not name.startswith("_")
    }
    assert len(given) > 3
    documented = names(section(estimator, "Attributes"))
    assert (given | computed) - documented == set()
    assert {name for name in documented - SOMETIMES if not hasattr(model, name)} == set()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_estimator_is_documented_by_a_sentence_an_equation_and_an_example(estimator):
    text = inspect.getdoc(estimator)
    assert re.match(r"[A-Z][^\n]*(\n[^\n]+)?[.:]\n\n", text)
    assert ":math:" in text or ".. math::" in text
    assert ">>> " in text.partition("Examples\n--------\n")[2]
    assert "{shared}" not in text
    assert "{attributes}" not in text


@pytest.mark.parametrize("estimator", [*ESTIMATORS, Selection, BootstrapTest])
def test_every_public_method_is_documented(estimator):
    for name, method in inspect.getmembers(estimator, callable):
        if name.startswith(("_", "set_")) or name in INHERITED:
            continue
        text = inspect.getdoc(method)
        assert text, f"{estimator.__name__}.{name}"
        assert text.split("\n\n")[0].rstrip().endswith((".", ":")), f"{estimator.__name__}.{name}"
        if section(method, "Parameters"):
            arguments = set(inspect.signature(method).parameters) - {"self"}
            assert names(section(method, "Parameters")) == arguments, f"{estimator.__name__}.{name}"
