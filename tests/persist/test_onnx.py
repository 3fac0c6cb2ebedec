"""An ONNX file gives the estimator's answers, and what has no graph is refused with a word about what to do."""

import itertools
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import softcount
from softcount._errors import InputError
from softcount._optional import MissingLibraryError
from softcount.core.calibration import Calibration
from tests.persist.onnx_cases import CLASSIFIERS, LABELS, MIXTURES, codes, counts, fit, numbers, with_holes

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

# A logarithm of zero is minus infinity on purpose, which the reference evaluator's NumPy remarks on.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:onnx")
CLOSE = {"rtol": 1e-10, "atol": 0.0}


def exported(estimator, folder):
    path = folder / "model.onnx"
    softcount.export_onnx(estimator, path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model, X):
    session = reference.ReferenceEvaluator(model)
    return dict(zip(session.output_names, session.run(None, {"X": np.asarray(X, dtype=np.float64)}), strict=True))


def without_labels(model):
    """The part of the graph that makes the probabilities, as a runtime asked for them alone would run it."""
    nodes = {name: node for node in model.graph.node for name in node.output}
    named = nodes["label"]
    model.graph.node.remove(nodes[named.input[0]])
    model.graph.node.remove(named)
    model.graph.output.remove(model.graph.output[0])
    return model


def assert_same(estimator, X, folder):
    answers = run(exported(estimator, folder), X)
    np.testing.assert_allclose(answers["probabilities"], estimator.predict_proba(X), **CLOSE)
    # Where two classes are equally likely to the last digits, rounding chooses.
    first, second = np.sort(answers["probabilities"], axis=1)[:, :-3:-1].T
    is_clear = first - second > 1e-9
    assert is_clear.mean() > 0.9
    assert answers["label"][is_clear].tolist() == estimator.predict(X)[is_clear].tolist()
    return answers


# ---- equal to the estimators
@pytest.mark.parametrize(
    ("case", "labels"),
    [
        *((case, "texts") for case in CLASSIFIERS),
        *((case, labels) for case in ("gaussian", "logistic", "complement", "tied") for labels in ("numbers", "truth")),
    ],
)
def test_a_classifiers_graph_answers_like_the_classifier(case, labels, tmp_path):
    unfitted, make, takes_holes = CLASSIFIERS[case]
    rng = np.random.default_rng(len(case))
    kind, X = make(rng)
    names = LABELS[labels]
    estimator = fit(clone(unfitted), X, names[kind % names.size])
    answers = assert_same(estimator, X, tmp_path)
    # Texts have Python's type in NumPy's arrays of the evaluator.
    assert answers["label"].dtype.kind == {"texts": "O", "numbers": "i", "truth": "b"}[labels]
    if takes_holes:
        holes = with_holes(X, rng)
        holes[0] = np.nan
        assert_same(estimator, holes, tmp_path)


@pytest.mark.parametrize("case", [case for case in CLASSIFIERS if not case.startswith(("complement", "logistic"))])
def test_a_classifier_learned_from_few_labels_is_exported_with_its_temperature(case, tmp_path):
    unfitted, make, takes_holes = CLASSIFIERS[case]
    rng = np.random.default_rng(7)
    kind, X = make(rng)
    y = LABELS["texts"][kind].astype(object)
    y[rng.random(y.size) < 0.4] = None
    estimator = fit(clone(unfitted).set_params(calibrate="temperature"), X, y)
    assert estimator.calibration_.kind == "temperature"
    assert_same(estimator, with_holes(X, rng) if takes_holes else X, tmp_path)


@pytest.mark.parametrize("case", MIXTURES)
def test_a_mixtures_graph_answers_like_the_mixture(case, tmp_path):
    unfitted, make, takes_holes = MIXTURES[case]
    rng = np.random.default_rng(3)
    kind, X = make(rng)
    y = LABELS["texts"][kind].astype(object)
    y[10:] = None
    for given in (None, y):
        estimator = fit(clone(unfitted), X, given)
        assert_same(estimator, with_holes(X, rng) if takes_holes else X, tmp_path)


@pytest.mark.parametrize(
    ("family", "link"),
    [
        ("gaussian", "identity"),
        ("gaussian", "log"),
        ("gaussian", "inverse"),
        ("poisson", "log"),
        ("poisson", "sqrt"),
        ("binomial", "logit"),
        ("binomial", "cloglog"),
        ("binomial", "loglog"),
        ("gamma", "inverse_squared"),
        ("negative_binomial", "log"),
    ],
)
def test_a_glms_graph_predicts_its_means(family, link, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.uniform(0.1, 1.0, size=(200, 3))
    y = 1.0 + X @ [0.5, 0.2, 0.1] + rng.uniform(0.0, 0.5, 200)
    y = (y > 1.6).astype(float) if family == "binomial" else np.round(3 * y) if "po" in family or "_" in family else y
    estimator = fit(softcount.GLM(family=family, link=link), X, y)
    far = np.vstack([X, 1e4 * X, -1e4 * X, 0.0 * X[:1]])
    answers = run(exported(estimator, tmp_path), far)
    assert list(answers) == ["prediction"]
    with np.errstate(divide="ignore", over="ignore"):
        np.testing.assert_allclose(answers["prediction"], estimator.predict(far), **CLOSE)


def test_small_means_of_the_complementary_log_log_link_keep_their_digits(tmp_path):
    estimator = fit(softcount.GLM(family="binomial", link="cloglog"), [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    X = np.linspace(-900.0, 200.0, 301)[:, None] / abs(estimator.coef_[0])
    np.testing.assert_allclose(run(exported(estimator, tmp_path), X)["prediction"], estimator.predict(X), **CLOSE)


def test_bayesian_linear_regression_is_exported_as_its_mean(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 3)) + 10.0
    for estimator in (softcount.BayesianLinearRegression(), softcount.BayesianLinearRegression(fit_intercept=False)):
        fit(estimator, X, X @ [1.0, -1.0, 0.5] + rng.normal(size=50))
        answers = run(exported(estimator, tmp_path), X)
        np.testing.assert_allclose(answers["prediction"], estimator.predict(X), **CLOSE)


CERTAIN = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=float)
CERTAIN_LABELS = ["a", "a", "b", "b", "c", "c"]


@pytest.mark.parametrize(
    "estimator",
    [
        softcount.BernoulliNB(alpha=0.0),
        softcount.BernoulliNB(alpha=0.0, n_components_per_class=2, n_init=1, random_state=0),
        softcount.MultinomialNB(alpha=0.0),
        softcount.PoissonNB(alpha=0.0),
        softcount.CategoricalNB(alpha=0.0),
        softcount.ComplementNB(alpha=0.0),
        softcount.BernoulliMixture(2, alpha=0.0, n_init=3, random_state=0),
    ],
)
def test_what_is_certain_or_impossible_in_a_class_is_so_in_its_graph(estimator, tmp_path):
    given = () if hasattr(estimator, "n_components") else (CERTAIN_LABELS,)
    fit(estimator, CERTAIN, *given)
    rows = np.array(list(itertools.product([0.0, 1.0, np.nan], repeat=3)))
    answers = run(exported(estimator, tmp_path), rows)
    expected = estimator.predict_proba(rows)
    np.testing.assert_allclose(answers["probabilities"], expected, **CLOSE)
    # Equally likely classes are equally likely to the last bit here or there, not in both.
    chosen = [list(getattr(estimator, "classes_", range(2))).index(label) for label in answers["label"]]
    np.testing.assert_allclose(expected[np.arange(len(rows)), chosen], expected.max(axis=1), **CLOSE)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kind", [softcount.MultinomialNB, softcount.BernoulliNB, softcount.CategoricalNB])
def test_cooling_goes_by_the_words_of_a_row_or_by_its_observed_cells(kind, correlation, tmp_path):
    estimator = fit(kind(alpha=0.0), CERTAIN, CERTAIN_LABELS)
    estimator.calibration_ = Calibration("temperature", correlation)
    rows = np.array([[1, 0, 1], [0, 0, 0], [np.nan, 0, 1], [0, np.nan, np.nan], [0, 0, 1]])
    if kind is softcount.MultinomialNB:
        rows = np.vstack([rows, 20_000 * rows])  # so long that even an impossible class is cooled to some probability
    np.testing.assert_allclose(
        run(exported(estimator, tmp_path), rows)["probabilities"], estimator.predict_proba(rows), **CLOSE
    )


def test_codes_that_were_not_seen_are_treated_as_the_estimator_treats_them(tmp_path):
    rng = np.random.default_rng(5)
    kind, X = codes(rng)
    new = X.copy()
    new[:5, 1], new[5:9, 2], new[9] = 4.0, 1e12, np.nan
    for unknown in ("ignore", "smooth"):
        assert_same(fit(softcount.CategoricalNB(handle_unknown=unknown), X, kind), new, tmp_path)
    model = exported(fit(softcount.CategoricalNB(handle_unknown="error"), X, kind), tmp_path)
    with pytest.raises(IndexError):
        run(model, new)


def test_a_model_of_sparse_rows_takes_the_same_rows_dense(tmp_path):
    kind, X = counts(np.random.default_rng(6))
    assert_same(fit(softcount.MultinomialNB(), csr_array(X), kind), X, tmp_path)
    sparse = fit(softcount.LogisticRegression(l1_ratio=1.0, C=0.1), X, kind).sparsify()
    assert_same(sparse, X, tmp_path)


def test_a_model_read_from_a_file_is_exported_like_the_one_that_was_saved(tmp_path):
    kind, X = numbers(np.random.default_rng(8))
    fit(softcount.GaussianDiscriminant(), X, kind).save(tmp_path / "model.softcount")
    assert_same(softcount.load(tmp_path / "model.softcount"), X, tmp_path)


# ---- what is in the file
def test_a_file_says_what_it_holds(tmp_path):
    pd = pytest.importorskip("pandas")
    kind, X = numbers(np.random.default_rng(9))
    estimator = fit(softcount.GaussianNB(), pd.DataFrame(X, columns=["größe", "b", "c", "d"]), kind)
    model = exported(estimator, tmp_path)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts["softcount"] == softcount.__version__
    assert facts["estimator"] == "GaussianNB"
    assert json.loads(facts["feature_names"]) == ["größe", "b", "c", "d"]
    shapes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {"X": ["n_rows", 4], "label": ["n_rows"], "probabilities": ["n_rows", 3]}
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE


# ---- rows that are refused
@pytest.mark.parametrize(
    ("estimator", "make", "cell"),
    [
        (softcount.GaussianNB(), numbers, np.inf),
        (softcount.BernoulliNB(), numbers, -np.inf),
        (softcount.MultinomialNB(), counts, -1.0),
        (softcount.CategoricalNB(), codes, -1.0),
        (softcount.BernoulliNB(binarize=None), lambda rng: (counts(rng)[0], (counts(rng)[1] > 0) * 1.0), 2.0),
        (softcount.LogisticRegression(), numbers, np.nan),
        (softcount.GaussianDiscriminant(), numbers, np.nan),
    ],
)
def test_a_row_that_is_refused_has_no_probabilities_and_no_label(estimator, make, cell, tmp_path):
    kind, X = make(np.random.default_rng(4))
    model = exported(fit(estimator, X, kind), tmp_path)
    expected = estimator.predict_proba(X)
    X[2, 1] = cell
    with pytest.raises(IndexError):
        run(model, X)
    got = run(without_labels(model), X)["probabilities"]
    assert np.isnan(got[2]).all()
    np.testing.assert_allclose(np.delete(got, 2, axis=0), np.delete(expected, 2, axis=0), **CLOSE)


def test_a_prediction_from_a_missing_cell_is_missing(tmp_path):
    X = np.arange(12.0).reshape(6, 2) ** 2
    model = exported(fit(softcount.GLM(), X, X[:, 0]), tmp_path)
    X[1, 1] = np.nan
    assert np.isnan(run(model, X)["prediction"]).tolist() == [False, True, False, False, False, False]


# ---- what is not exported
@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (softcount.NaiveBayes(), "GaussianNB, CategoricalNB"),
        (softcount.Mixture(), "GaussianMixture"),
        (softcount.LatentClass(), "CategoricalMixture"),
        (type("MyNB", (softcount.GaussianNB,), {})(), "fit one of them"),
        ("model", "fit one of them"),
    ],
)
def test_an_estimator_without_a_graph_is_refused_with_a_way_out(estimator, advice, tmp_path):
    with pytest.raises(InputError, match=rf"cannot be exported to ONNX.*{advice}"):
        softcount.export_onnx(estimator, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_what_a_graph_would_not_answer_alike_is_refused(tmp_path):
    kind, X = numbers(np.random.default_rng(0))
    y = LABELS["texts"][kind].astype(object)
    y[::3] = None
    isotonic = fit(softcount.GaussianNB(calibrate="isotonic"), X, y)
    with pytest.raises(InputError, match=r"Isotonic.*calibrate='temperature'"):
        softcount.export_onnx(isotonic, tmp_path / "model.onnx")
    for link in ("probit", "cauchit"):
        glm = fit(softcount.GLM(family="binomial", link=link), X, kind > 0)
        with pytest.raises(InputError, match=rf"{link}.*cloglog, identity"):
            softcount.export_onnx(glm, tmp_path / "model.onnx")
    dates = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]")
    with pytest.raises(InputError, match=r"labels of an ONNX graph are texts.*str\(label\)"):
        softcount.export_onnx(fit(softcount.GaussianNB(), X, dates[kind]), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_formula_is_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("formulaic")
    table = pd.DataFrame({"y": [1.0, 2.0, 3.5, 3.0], "x": [0.0, 1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"formula.*fit\(X, y\)"):
        softcount.export_onnx(softcount.GLM.from_formula("y ~ x", table), tmp_path / "model.onnx")


def test_an_unfitted_estimator_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        softcount.export_onnx(softcount.GaussianNB(), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_without_onnx_it_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr("softcount._optional.find_spec", lambda name: None)
    kind, X = numbers(np.random.default_rng(0))
    with pytest.raises(MissingLibraryError, match=r"needs onnx.*pip install 'softcount\[onnx\]'"):
        softcount.export_onnx(fit(softcount.GaussianNB(), X, kind), tmp_path / "model.onnx")
