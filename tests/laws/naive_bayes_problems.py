"""Problems that every law of semi-supervised naive Bayes is tried on, and the objective of EM written out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp, xlogy

from tests.estimators.naive_bayes.cases import GENERATIVE, Case

LABELS = ("some", "few", "sets", "soft", "soft prior")


@dataclass
class Problem:
    """Rows, labels that say more or less about them, weights and settings."""

    case: Case
    X: NDArray[Any]
    truth: NDArray[Any]
    y: Any
    weight: NDArray[Any] | None
    settings: dict[str, Any] = field(default_factory=dict)

    def fit(self, X: Any = None, **settings: Any) -> Any:
        """The estimator of the case, fitted to the problem."""
        model = self.case.make(**{**self.settings, **settings})
        return model.fit(self.X if X is None else X, self.y, sample_weight=self.weight)

    def sparse(self) -> csr_array:
        """The rows, sparse."""
        return csr_array(self.X)


def make_problem(
    case: Case,
    seed: int,
    *,
    n_rows: int = 40,
    n_classes: int = 3,
    labels: str = "some",
    missing: bool = False,
    weighted: bool = False,
    n_components: int = 1,
) -> Problem:
    """A problem in which every class has labeled rows."""
    rng = np.random.default_rng(seed)
    X, truth = case.rows(n_rows, int(rng.integers(2, 6)), n_classes, seed)
    if missing:
        X = case.missing_cells(X, 0.15, seed + 1)
    settings: dict[str, Any] = {"unlabeled_weight": 1.0, "max_iter": 12, "tol": 0.0, "n_init": 1, "random_state": seed}
    if n_components > 1:
        settings["n_components_per_class"] = n_components
    if labels.startswith("soft"):
        settings["soft_labels"] = "prior" if labels == "soft prior" else "responsibility"
    weight = rng.integers(0, 4, size=n_rows) + rng.integers(0, 2, size=n_rows) * 0.5 if weighted else None
    if weight is not None:
        weight[:n_classes] = 1.0
    return Problem(case, X, truth, make_labels(labels, truth, n_classes, rng), weight, settings)


def make_labels(kind: str, truth: NDArray[Any], n_classes: int, rng: np.random.Generator) -> Any:
    """Labels of a kind; the first row of every class is labeled."""
    known = rng.random(truth.size) < (0.1 if kind == "few" else 0.4)
    known[:n_classes] = True
    if kind in ("some", "few"):
        return np.where(known, truth.astype(float), np.nan)
    if kind == "sets":
        y = np.empty(truth.size, dtype=object)
        for i, k in enumerate(truth.tolist()):
            kinds = [k, {k, int(rng.integers(n_classes))}, None]
            y[i] = k if i < n_classes else kinds[int(rng.integers(3))]
        return y
    soft = rng.dirichlet(np.full(n_classes, 0.7), size=truth.size)
    soft[~known] = np.nan
    soft[:n_classes] = np.eye(n_classes)[truth[:n_classes]]
    return soft


@st.composite
def problems(draw: Any, cases: list[Case] = GENERATIVE, labels: tuple[str, ...] = LABELS) -> Problem:
    """Any problem."""
    return make_problem(
        draw(st.sampled_from(cases)),
        draw(st.integers(0, 10**6)),
        n_rows=draw(st.integers(12, 50)),
        n_classes=draw(st.integers(2, 4)),
        labels=draw(st.sampled_from(labels)),
        missing=draw(st.booleans()),
        weighted=draw(st.booleans()),
        n_components=draw(st.integers(1, 2)),
    )


# ---- what EM raises, written out
def log_prior(model: Any) -> float:
    """Log-density of the parameters under their conjugate prior, up to a constant."""
    total, block = 0.0, model.params_.blocks[0]
    prior = model.model_.priors[0]
    name = type(model).__name__
    if name == "BernoulliNB":
        total = model.alpha * float((block["log_prob"] + block["log_not"]).sum())
    elif name in ("MultinomialNB", "CategoricalNB"):
        total = model.alpha * float(block["log_prob"].sum())
    elif name == "PoissonNB":
        total = model.alpha * float((xlogy(prior.center, block["rate"]) - block["rate"]).sum())
    log_class = model.predict_joint_log_proba(np.full((1, model.n_features_in_), np.nan))[0]
    # A row without any cell has the class prior for its joint density.
    return total + (model.class_alpha * float(log_class.sum()) if model.class_alpha else 0.0)


def class_scores(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Joint log-density per class; for Gaussians with the floor's share, cell by cell."""
    if type(model).__name__ != "GaussianNB":
        return model.predict_joint_log_proba(X)
    groups, log_weights = model.model_.groups, model.params_.log_weights
    scores = np.empty((X.shape[0], groups.size))
    for m in range(groups.size):
        var, mean = model.var_[m], model.theta_[m]
        cells = -0.5 * (np.log(2 * np.pi * var) + (X - mean) ** 2 / var) - 0.5 * model.epsilon_ / var
        scores[:, m] = np.nansum(cells, axis=1) + log_weights[m]
    return np.stack([logsumexp(scores[:, groups == k], axis=1) for k in range(model.classes_.size)], axis=1)


def objective(problem: Problem, model: Any) -> float:
    """Mixed log-likelihood of the problem's rows and labels under a fitted model, plus log-prior."""
    scores = class_scores(model, problem.X)
    weight = np.ones(len(problem.X)) if problem.weight is None else problem.weight.copy()
    values = np.empty(len(problem.X))
    for i in range(len(problem.X)):
        label = problem.y[i]
        if isinstance(label, np.ndarray):
            if np.isnan(label).all():
                values[i] = logsumexp(scores[i])
                weight[i] *= model.unlabeled_weight
            elif model.soft_labels == "responsibility":
                values[i] = (label * scores[i]).sum()
            else:
                values[i] = logsumexp(scores[i], b=label)
        elif isinstance(label, set):
            values[i] = logsumexp(scores[i][[model.classes_.tolist().index(v) for v in label]])
            if len(label) == model.classes_.size:
                weight[i] *= model.unlabeled_weight
        elif label is None or np.isnan(label):
            values[i] = logsumexp(scores[i])
            weight[i] *= model.unlabeled_weight
        else:
            values[i] = scores[i][model.classes_.tolist().index(label)]
    return float(weight @ values) + log_prior(model)
