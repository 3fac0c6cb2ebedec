"""Fits of every iterative kind, small, and how to compare what they end with."""

import numpy as np

import softcount
from softcount.families.statistics import Moments


def _blobs(n_rows, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_rows)
    return rng.normal(size=(n_rows, n_columns)) + 1.5 * rng.normal(size=(3, n_columns))[truth], truth


def _partly(truth, share, seed=1):
    rng = np.random.default_rng(seed)
    names = np.array(["a", "b", "c"], dtype=object)[truth]
    names[rng.random(truth.size) > share] = None
    return names


def _answers(n_rows, seed=2):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_rows)
    share = np.array([[0.2, 0.7, 0.5, 0.3, 0.6], [0.7, 0.3, 0.4, 0.6, 0.2]])[truth]
    return (rng.random(share.shape) < share).astype(float), truth


def _words(n_rows, seed=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_rows)
    rate = rng.gamma(0.4, size=(3, 30))
    return rng.poisson(rate[truth]).astype(float), truth


def gaussian_mixture():
    """Full covariances, two starts."""
    return softcount.GaussianMixture(3, n_init=2, tol=1e-6, random_state=0).fit(_blobs(600)[0])


def accelerated_mixture():
    """Missing cells, leaps of SQUAREM."""
    X = _blobs(600)[0]
    X[::7, 1] = np.nan
    return softcount.GaussianMixture(4, accelerate=True, tol=1e-8, init_params="random", random_state=1).fit(X)


def mixture_of_many_starts():
    """Short runs that are compared, from a stream of random numbers."""
    answers, _ = _answers(400)
    return softcount.BernoulliMixture(3, n_init=6, max_iter=60, random_state=np.random.default_rng(5)).fit(answers)


def annealed_mixture():
    """Runs at falling temperatures."""
    words, _ = _words(300)
    return softcount.MultinomialMixture(3, n_init=2, annealing=[4.0, 2.0], max_iter=40, random_state=3).fit(words)


def latent_class():
    """Equal rows merged, the default search."""
    answers, _ = _answers(300)
    return softcount.LatentClass(2, n_init=5, random_state=0, order="size").fit(answers)


def bernoulli_default():
    """Missing labels, used as cross-validation says."""
    answers, truth = _answers(400)
    return softcount.BernoulliNB(random_state=0).fit(answers, _partly(truth, 0.2))


def multinomial_default():
    """The same for words, accelerated."""
    words, truth = _words(300)
    return softcount.MultinomialNB(accelerate=True).fit(words, _partly(truth, 0.3))


def gaussian_default():
    """The same for numbers, from another kind of stream."""
    X, truth = _blobs(300)
    return softcount.GaussianNB(random_state=np.random.RandomState(4)).fit(X, _partly(truth, 0.2))


def discriminant():
    """EM with missing labels and cells."""
    X, truth = _blobs(300)
    X[::5, 0] = np.nan
    return softcount.GaussianDiscriminant(covariance="full", unlabeled_weight=1.0).fit(X, _partly(truth, 0.3))


def calibrated_discriminant():
    """A given weight of unlabeled rows, and a calibration."""
    X, truth = _blobs(200)
    return softcount.GaussianDiscriminant(unlabeled_weight=0.5, calibrate="temperature").fit(X, _partly(truth, 0.4))


def logistic_newton():
    """Newton's method."""
    X, truth = _blobs(500)
    return softcount.LogisticRegression().fit(X, truth)


def logistic_quasi_newton():
    """Stages of L-BFGS without a penalty."""
    X, truth = _blobs(500)
    return softcount.LogisticRegression(C=np.inf, solver="lbfgs").fit(X, truth == 1)


def logistic_gradient():
    """Accelerated gradient ascent with absolute values."""
    X, truth = _blobs(200)
    return softcount.LogisticRegression(solver="gradient", l1_ratio=0.5, tol=1e-5).fit(X, truth == 1)


def logistic_without_matrix():
    """Conjugate gradients."""
    words, truth = _words(200)
    return softcount.LogisticRegression(solver="newton-cg", C=10.0).fit(words, truth)


def glm():
    """Scoring, theta along with it."""
    X, _ = _blobs(400)
    y = np.random.default_rng(8).poisson(np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1]))
    return softcount.GLM("negative_binomial").fit(X, y)


def glm_finished_by_hand():
    """The last digits of a link that is not canonical."""
    X, _ = _blobs(400)
    y = np.random.default_rng(8).gamma(2.0, np.exp(0.2 * X[:, 0]))
    return softcount.GLM("gamma", "log").fit(X, y)


def glm_without_matrix():
    """Scoring by conjugate gradients."""
    X, _ = _blobs(300)
    y = np.random.default_rng(8).poisson(np.exp(0.3 * X[:, 0]))
    return softcount.GLM("poisson", inference=False).fit(X, y)


def glm_of_collinear_columns():
    """Nearly collinear columns, by orthogonal factors."""
    X, _ = _blobs(300)
    X[:, 1] = X[:, 0] + 1e-9 * X[:, 1]
    y = X[:, 0] + np.random.default_rng(8).normal(size=300)
    return softcount.GLM("gaussian", "identity").fit(X, y)


def _batches(X, *beside):
    return [(X[i : i + 70], *(part[i : i + 70] for part in beside)) for i in range(0, len(X), 70)]


def mixture_of_batches():
    """Rows that are read pass after pass."""
    words, _ = _words(400)
    return softcount.MultinomialMixture(3, n_init=4, max_iter=40, random_state=3).fit(_batches(words))


def bernoulli_of_batches():
    """The same with missing labels, used as cross-validation says."""
    answers, truth = _answers(400)
    return softcount.BernoulliNB(random_state=0).fit(_batches(answers, _partly(truth, 0.2)))


def logistic_of_batches():
    """Newton's method on rows that are read pass after pass."""
    X, truth = _blobs(500)
    return softcount.LogisticRegression(C=np.inf).fit(_batches(X, truth))


def glm_of_batches():
    """Scoring on rows that are read pass after pass."""
    X, _ = _blobs(400)
    y = np.random.default_rng(8).gamma(2.0, np.exp(0.2 * X[:, 0]))
    return softcount.GLM("gamma", "log").fit(_batches(X, y))


JOBS = {
    job.__name__: job
    for job in (
        gaussian_mixture,
        accelerated_mixture,
        mixture_of_many_starts,
        annealed_mixture,
        latent_class,
        bernoulli_default,
        multinomial_default,
        gaussian_default,
        discriminant,
        calibrated_discriminant,
        logistic_newton,
        logistic_quasi_newton,
        logistic_gradient,
        logistic_without_matrix,
        glm,
        glm_finished_by_hand,
        glm_without_matrix,
        glm_of_collinear_columns,
        mixture_of_batches,
        bernoulli_of_batches,
        logistic_of_batches,
        glm_of_batches,
    )
}


def bits_of(model):
    """Everything a fit says that is a number, as bytes; times are left out."""
    found = {}
    for name, value in sorted(vars(model).items()):
        if name.endswith("_") and not name.startswith("_"):
            _collect(found, name, value)
    return found


def _collect(found, name, value):
    if name == "history_":
        found[name] = [(step.iteration, float(step.objective).hex(), float(step.change).hex()) for step in value]
    elif isinstance(value, np.ndarray):
        found[name] = (value.dtype.str, value.shape, value.tolist() if value.dtype.kind == "O" else value.tobytes())
    elif isinstance(value, bool | int | str | None):
        found[name] = value
    elif isinstance(value, float | np.floating):
        found[name] = float(value).hex()
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _collect(found, f"{name}.{i}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(found, f"{name}.{key}", item)
    elif isinstance(value, Moments) or hasattr(value, "arrays"):
        _collect(found, name, value.arrays())
    elif hasattr(value, "blocks") and hasattr(value, "log_weights"):
        _collect(found, name, {"log_weights": value.log_weights, "blocks": list(value.blocks)})
