"""The parameters all mixtures share, documented once."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["documented_mixture"]

T = TypeVar("T", bound=type)

SHARED = """\
    class_prior : array-like of shape (n_components,), optional
        Given weights of the components, divided by their sum where that is not 1; they are estimated by default.
    class_alpha : float, default=0.0
        Pseudo-rows added to every component when its weight is estimated.
    init : str, array, estimator or list of these, optional
        Where EM starts. By default starts from seeds that lie far apart (``"k-means++"``) and from random
        responsibilities (``"random"``) take turns. ``"kmeans"`` moves the seeds to the means of their rows first,
        ``"random_from_data"`` takes any rows as seeds, ``"uniform"`` shares all rows equally (a saddle, which is left).
        An array holds responsibilities of shape (n_samples, n_components), or the component of each row; a fitted
        estimator of the same kind gives its parameters; a list of these gives several starts.
    n_init : int, default=20
        Starts.
    n_final : int, optional
        Starts that are run to the end after all have run for a few iterations; by default a quarter, at least 4,
        and more of them where only one of these reached the best value.
    max_iter : int, default=2000
        Most EM iterations of a start.
    tol : float, default=1e-10
        EM has converged when the gain, and the gain still expected, are at most this share of the objective;
        0 runs exactly ``max_iter`` iterations.
    accelerate : bool, default=True
        Leap along the path of EM (SQUAREM); the objective still never falls.
    annealing : sequence of float, optional
        Temperatures above 1 to run through, from hot to cold, before the last run at 1.
    merge_rows : bool, optional
        Whether equal rows are taken together before fitting, which changes nothing but the time; by default they are
        where it pays.
    order : {"size", None} or column, default="size"
        Order of the components: by size, largest first; by the expected value of a column (a name or position),
        smallest first; ``None`` leaves them as the start had them. Components with labels keep the order of the labels.
    missing_label : scalar, default=nan
        Marker of a missing label in ``y``; NaN, None and ``pd.NA`` always are.
    soft_labels : {"responsibility", "prior"}, default="responsibility"
        What a row of probabilities in ``y`` means: the row's responsibilities, kept as they are, or factors that
        multiply the components' weights and are then updated by the row.
    unlabeled_weight : float, default=1.0
        Factor on the weight of rows without a label, where some have one (EM-lambda).
    random_state : int, Generator, RandomState or None
        Seed of the starts. The result depends neither on the order of the rows nor on their repetition.
    n_jobs : int, optional
        Threads; all usable cores by default. The result does not depend on it.
    verbose : int, default=0
        1 prints what the search is doing to standard error, 2 every tenth iteration, 3 every one."""

ATTRIBUTES = """\
    weights_ : array of shape (n_components,)
        Weights of the components.
    component_names_ : array of shape (n_components,)
        0, 1, ..., or the labels of ``y``.
    log_likelihood_ : float
        Marginal log-likelihood of the training rows.
    classification_ : Classification
        Expected by assigned component of the training rows, with their entropy.
    n_parameters_, n_iter_, converged_, history_
        Free parameters, and what the start that was kept went through; ``history_`` holds the monitored objective.
    n_starts_, n_finished_starts_, n_best_starts_ : int
        Starts, those run to the end, and those of them that reached the best objective.
    n_patterns_ : int or None
        Distinct rows, where equal rows were taken together.
    notes_ : list of str
        What is worth knowing about the fit.
    n_features_in_ : int
        Columns of X; where they have names, ``feature_names_in_`` holds them.
    model_, params_, counts_
        The fitted mixture of families, its parameters, and the counts they were solved from."""


def documented_mixture(cls: T) -> T:
    """Put the shared parameters and attributes where the class docstring says ``{shared}`` and ``{attributes}``."""
    if cls.__doc__:
        cls.__doc__ = cls.__doc__.replace("    {shared}", SHARED).replace("    {attributes}", ATTRIBUTES)
    return cls
