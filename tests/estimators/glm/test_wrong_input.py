"""Wrong input: an error that names the row, the column or the parameter."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from softcount._errors import InputError
from softcount.core.glm.families import BinomialFamily
from softcount.core.glm.links import Power
from softcount.estimators.glm import GLM
from tests.estimators.glm.data import rows, target

BAD_CELLS = [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "frame"])
@pytest.mark.parametrize(("value", "word"), BAD_CELLS)
def test_a_bad_cell_of_x_is_named_by_row_and_column(kind, value, word):
    pd = pytest.importorskip("pandas")
    x = rows()
    x[17, 1] = value
    table, column = x, "x1"
    if kind == "float32":
        table = x.astype(np.float32)
    if kind == "sparse":
        table = sp.csr_array(x)
    if kind == "frame":
        table, column = pd.DataFrame(x, columns=["age", "dose", "year"]), "dose"
    with pytest.raises(InputError, match=rf"X contains {word}.*row 17, column '{column}'"):
        GLM().fit(table, target("gaussian", rows()))


def test_a_bad_cell_is_refused_at_prediction_as_well():
    x = rows()
    model = GLM().fit(x, target("gaussian", x))
    x[3, 0] = np.nan
    with pytest.raises(InputError, match="row 3, column 'x0'"):
        model.predict(x)


@pytest.mark.parametrize("name", ["y", "sample_weight", "frequency_weight", "offset", "exposure"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_number_in_any_vector_is_named_by_row(name, value):
    x = rows()
    vectors = {"y": target("poisson", x), name: np.ones(len(x))}
    vectors[name] = vectors[name].copy()
    vectors[name][11] = value
    with pytest.raises(InputError, match=rf"{name}.*11|11.*{name}"):
        GLM("poisson").fit(x, vectors.pop("y"), **vectors)


@pytest.mark.parametrize("name", ["sample_weight", "frequency_weight", "exposure"])
def test_negative_weights_and_exposures_are_refused(name):
    x = rows()
    values = np.ones(len(x))
    values[5] = -1.0
    with pytest.raises(InputError, match=rf"{name}.*5"):
        GLM("poisson").fit(x, target("poisson", x), **{name: values})


@pytest.mark.parametrize(
    ("family", "value", "expected"),
    [
        ("poisson", -1.0, "not negative"),
        ("negative_binomial", -2.0, "not negative"),
        ("gamma", 0.0, "positive"),
        ("inverse_gaussian", -1.0, "positive"),
        ("binomial", 1.5, "between 0 and 1"),
        ("quasibinomial", -0.1, "between 0 and 1"),
        ("quasipoisson", -3.0, "not negative"),
        ("tweedie", -0.5, "not negative"),
    ],
)
def test_a_target_the_family_cannot_produce_is_named_by_row(family, value, expected):
    x = rows()
    y = np.full(len(x), 0.5)
    y[42] = value
    with pytest.raises(InputError, match=rf"y of row 42 is {value}.*{expected}"):
        GLM(family).fit(x, y)


@pytest.mark.parametrize(
    ("parameters", "fitting", "message"),
    [
        ({"family": "normal"}, {}, "'normal' is not a family"),
        ({"link": "logistic"}, {}, "'logistic' is not a link"),
        ({"alpha": -1.0}, {}, "alpha=-1.0"),
        ({"l1_ratio": 2.0}, {}, "l1_ratio=2.0"),
        ({"family": "negative_binomial", "theta": 0.0}, {}, "theta=0.0"),
        ({"covariance": "robust"}, {}, "'sandwich'"),
        ({"dispersion": -2.0}, {}, "dispersion"),
        ({"max_iter": 0}, {}, "max_iter=0"),
        ({"tol": -1.0}, {}, "tol=-1.0"),
        ({"family": "tweedie", "power": 0.5}, {}, "power=0.5"),
        ({}, {"exposure": np.ones(120)}, "exposure multiplies"),
        ({}, {"offset": np.ones(7)}, r"offset.shape == \(7,\)"),
        ({}, {"offset": ["a"] * 120}, "offset cannot be read"),
        ({}, {"sample_weight": np.zeros(120)}, "weights are zero"),
        ({"family": "poisson"}, {"offset": np.linspace(-1e4, 1e4, 120)}, "Check the offset"),
    ],
)
def test_impossible_parameters_and_arguments_are_refused_by_name(parameters, fitting, message):
    x = rows()
    with pytest.raises(InputError, match=message):
        GLM(**parameters).fit(x, target("poisson", x), **fitting)


def test_two_columns_of_counts_need_a_binomial_family_and_no_negative_count():
    x = rows()
    counts = np.ones((len(x), 2))
    with pytest.raises(ValueError, match="1d array"):
        GLM("poisson").fit(x, counts)
    counts[8, 1] = -1.0
    with pytest.raises(InputError, match="y of row 8"):
        GLM("binomial").fit(x, counts)


def test_text_as_target_is_refused():
    with pytest.raises(InputError, match="numeric target"):
        GLM().fit(rows(), ["a"] * 120)


def test_asking_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        GLM().predict(rows())
    with pytest.raises(NotFittedError):
        GLM().summary()


def test_the_constructor_only_stores_and_clone_keeps_all_parameters():
    family = BinomialFamily()
    model = GLM(family, Power(2.0), alpha=0.3, l1_ratio=0.2, theta=4.0, covariance="sandwich", dispersion=2.0)
    copy = clone(model)
    assert copy.get_params() | {"family": None, "link": None} == model.get_params() | {"family": None, "link": None}
    assert not [name for name in vars(model) if name.endswith("_")]
    assert model.set_params(alpha=0.5).alpha == 0.5


def test_a_failed_fit_leaves_the_fitted_model_as_it_was():
    x = rows()
    model = GLM("poisson").fit(x, target("poisson", x))
    before = model.coef_.copy()
    with pytest.raises(InputError):
        model.fit(x, -np.ones(len(x)))
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize(
    ("power", "target", "expected"),
    [(1.5, -1.0, "not negative"), (2.5, 0.0, "positive"), (3, 0.0, "positive"), (-1.0, np.inf, "infinity")],
)
def test_a_target_of_no_tweedie_family_is_told_what_its_power_allows(power, target, expected):
    with pytest.raises(InputError, match=expected):
        GLM("tweedie", power=power).fit([[0.0], [1.0], [2.0]], [1.0, target, 2.0])


@pytest.mark.parametrize("power", [1.0, 1.5, 1.999, 2.0, 2.001, 3.0])
def test_the_default_link_of_a_tweedie_family_does_not_jump_with_its_power(power):
    x = np.random.default_rng(0).normal(size=(60, 2))
    model = GLM("tweedie", power=power).fit(x, np.exp(0.3 * x[:, 0]) + 0.1)
    assert model.link_.name == "log"
