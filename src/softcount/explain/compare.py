r"""A generative and a discriminative model on growing samples (Ng and Jordan 2001).

Naive Bayes needs :math:`O(\log d)` rows to come close to its best, logistic regression :math:`O(d)`; but the best that
logistic regression can do is at least as good. So the generative twin tends to lead on few rows and the discriminative
one on many, and where the curves cross depends on how wrong the generative assumptions are. :func:`compare_pair`
measures it on the user's own data.

Errors of repeats vary, and curves that are equal cross at random. So a lead counts only where it is clear: where the
interval of the paired difference, at 95% for all sizes together (t, Bonferroni), leaves out zero. A crossing is stated
only between a clear lead of the generative model and a clear one of the discriminative model on the most rows;
otherwise the sentence says what is clear, and what is not. The intervals tell how far the random splits of these rows
matter; other rows would vary more.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed

from softcount._errors import InputError
from softcount._optional import need
from softcount._types import BoolArray, FloatArray, IntArray
from softcount.estimators.logistic.inputs import check_whole
from softcount.inputs.label_values import is_missing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Crossing", "PairComparison", "compare_pair"]

TEST_SHARE = 1.0 / 3.0
N_SIZES = 10
N_RESAMPLES = 1000
LEVEL = 0.95


class Crossing(NamedTuple):
    """Where the learning curves cross.

    Attributes
    ----------
    size : float
        Number of training rows.
    lower, upper : float
        95% interval, from resampling the repeats; not a number where too few resamples cross.
    """

    size: float
    lower: float
    upper: float


@dataclass(frozen=True)
class PairComparison:
    """Learning curves of two models, measured on the same splits.

    Attributes
    ----------
    names : tuple of str
        The generative and the discriminative model.
    sizes : array of int, shape (n_sizes,)
        Training rows.
    errors : array of shape (2, n_sizes, n_repeats)
        Share of test rows that each model got wrong.
    crossing : Crossing or None
        Where the discriminative model overtakes the generative one for good; None unless the generative model leads
        clearly at some size and the discriminative one at the largest.
    n_warned : array of int, shape (2, n_sizes)
        Fits that warned (separated classes and slow convergence are common on few rows).
    """

    names: tuple[str, str]
    sizes: IntArray
    errors: FloatArray
    crossing: Crossing | None
    n_warned: IntArray

    @property
    def mean_errors(self) -> FloatArray:
        """Mean test error of each model, shape (2, n_sizes)."""
        return np.asarray(self.errors.mean(axis=2))

    @property
    def intervals(self) -> FloatArray:
        """95% intervals of the mean test errors (t, one by one), shape (2, n_sizes, 2)."""
        mean, reach = self.mean_errors, _reach(self.errors, 1.0 - LEVEL)
        return np.stack([np.clip(mean - reach, 0.0, 1.0), np.clip(mean + reach, 0.0, 1.0)], axis=2)

    @property
    def leads(self) -> IntArray:
        """Who makes clearly fewer errors at each size: 1 the generative model, -1 the discriminative one, 0 unclear."""
        return _leads(self.errors)

    @property
    def sentence(self) -> str:
        """The finding in words."""
        generative, discriminative = self.names
        if self.crossing is not None:
            size, lower, upper = self.crossing
            interval = "" if math.isnan(lower) else f" (95% interval {lower:.0f} to {upper:.0f})"
            return (
                f"{generative} makes fewer errors on {self._where_first()}; {discriminative} overtakes it at about "
                f"{size:.0f} training rows{interval}."
            )
        span = f"from {self.sizes[0]} to {self.sizes[-1]} training rows"
        if np.array_equal(self.errors[0], self.errors[1]):
            return f"{generative} and {discriminative} make the same errors, {span}."
        leads = self.leads
        if not leads.any():
            return f"No difference between {generative} and {discriminative} is clear, {span}."
        if (leads > 0).any() and (leads < 0).any():
            return (
                f"{discriminative} makes fewer errors at {self._listed(leads < 0)} training rows, {generative} at "
                f"{self._listed(leads > 0)}; a crossing in favor of {discriminative} is not seen, {span}."
            )
        leader, other = (generative, discriminative) if (leads > 0).any() else (discriminative, generative)
        finding = f"{leader} makes fewer errors at all sizes, {span}"
        if not leads.all():
            finding = (
                f"{leader} makes clearly fewer errors at {self._listed(leads != 0)} training rows; elsewhere, {span}, "
                "no difference is clear"
            )
        return f"{finding}; {other} is not seen to overtake it." if leader == generative else f"{finding}."

    def _where_first(self) -> str:
        """Where the generative model leads before it is overtaken."""
        leads = self.leads
        before = leads[: int(np.flatnonzero(leads > 0)[-1]) + 1]
        return "few rows" if np.all(before >= 0) else f"{self._listed(leads > 0)} rows"

    def _listed(self, chosen: BoolArray) -> str:
        sizes = [str(size) for size in self.sizes[chosen]]
        return sizes[0] if len(sizes) == 1 else f"{', '.join(sizes[:-1])} and {sizes[-1]}"

    def frame(self) -> pd.DataFrame:
        """One row per model and size: mean error, interval, repeats, fits that warned (needs pandas)."""
        need("pandas", "A data frame")
        import pandas as pd

        rows = [
            {
                "model": name,
                "size": int(size),
                "error": float(self.mean_errors[i, j]),
                "lower": float(self.intervals[i, j, 0]),
                "upper": float(self.intervals[i, j, 1]),
                "repeats": self.errors.shape[2],
                "warned": int(self.n_warned[i, j]),
            }
            for i, name in enumerate(self.names)
            for j, size in enumerate(self.sizes)
        ]
        return pd.DataFrame(rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the two curves with their intervals and the crossing (needs matplotlib)."""
        from softcount.explain.plots.learning_curves import draw_comparison

        return draw_comparison(self, ax)

    def __str__(self) -> str:
        return self.sentence


def compare_pair(
    generative: Any,
    discriminative: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int] | None = None,
    n_repeats: int = 20,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PairComparison:
    """Fit both models to growing samples and compare their test errors.

    Every repeat sets aside a third of the rows for testing and takes nested training samples from the rest, the same
    for both models. A sample begins with one row of each class, so that every class is known from the start.

    Parameters
    ----------
    generative, discriminative : classifiers
        Any two classifiers; they are cloned. Think of ``GaussianNB()`` and ``LogisticRegression()``.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels, all known.
    sizes : sequence of int, optional
        Numbers of training rows; by default ten, evenly spaced on a logarithmic scale.
    n_repeats : int, default=20
        Random splits.
    random_state : int, Generator or None
        Seed of the splits.
    n_jobs : int, optional
        Repeats run at the same time, in processes; one by default. The result does not depend on it.
    progress : callable, optional
        Called with the number of repeats done and of all.

    Returns
    -------
    comparison : PairComparison

    References
    ----------
    Ng, A. Y. and Jordan, M. I. (2001). On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes. NIPS 14.

    Examples
    --------
    >>> import numpy as np
    >>> from softcount import GaussianNB, LogisticRegression
    >>> from softcount.explain.compare import compare_pair
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> X = rng.normal(y[:, None], 1.0, (400, 5))
    >>> compared = compare_pair(GaussianNB(), LogisticRegression(), X, y, sizes=[8, 200], n_repeats=5, random_state=0)
    >>> compared.errors.shape
    (2, 2, 5)
    """
    check_whole("n_repeats", n_repeats, low=2)
    X, y = indexable(X, y)
    truth = np.asarray(y)
    lost = is_missing(truth, math.nan)
    if lost.any():
        raise InputError(
            f"y has no label in {int(lost.sum())} of {lost.size} rows (the first is row {int(lost.argmax())}). Errors "
            "are counted against labels, so compare the models on the rows that have one."
        )
    labels, codes = np.unique(truth, return_inverse=True)
    counts = np.bincount(codes)
    if labels.size < 2 or counts.min() < 2:
        raise InputError(
            f"y holds the classes {labels.tolist()} with {counts.tolist()} rows; a comparison needs at least two "
            "classes of at least two rows, one to learn from and one to test."
        )
    n_test = max(labels.size, round(TEST_SHARE * codes.size))
    wanted = _read_sizes(sizes, labels.size, codes.size - n_test)
    seeds = np.random.default_rng(random_state).spawn(n_repeats)
    pair = (generative, discriminative)
    running = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_one_repeat)(pair, X, y, codes, sizes=wanted, n_test=n_test, rng=rng) for rng in seeds
    )
    found = []
    for one in running:
        found.append(one)
        if progress is not None:
            progress(len(found), n_repeats)
    errors = np.stack([each[0] for each in found], axis=2)
    warned = np.sum([each[1] for each in found], axis=0)
    return PairComparison(_names(pair), wanted, errors, _crossing(wanted, errors), np.asarray(warned, dtype=np.int64))


def _names(pair: tuple[Any, Any]) -> tuple[str, str]:
    first, second = (type(_last_step(model)).__name__ for model in pair)
    return (first, second) if first != second else (f"{first} (generative)", f"{second} (discriminative)")


def _last_step(model: Any) -> Any:
    steps = getattr(model, "steps", None)
    return steps[-1][1] if steps else model


def _read_sizes(sizes: Sequence[int] | None, n_classes: int, n_most: int) -> IntArray:
    least = 2 * n_classes
    if sizes is None:
        if n_most < least:
            raise InputError(f"There are {n_most} rows to learn from, too few for {n_classes} classes.")
        return np.unique(np.geomspace(least, n_most, N_SIZES).round().astype(np.int64))
    wanted = np.unique(np.asarray(sizes, dtype=np.int64))
    if wanted.size == 0 or wanted[0] < n_classes or wanted[-1] > n_most:
        raise InputError(
            f"sizes is {list(sizes)}; expected numbers from {n_classes} (one row of each class) to {n_most} (all rows "
            "but the third that is for testing)."
        )
    return wanted


def _one_repeat(
    pair: tuple[Any, Any],
    X: Any,
    y: Any,
    codes: NDArray[np.intp],
    *,
    sizes: IntArray,
    n_test: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, IntArray]:
    """Test errors and numbers of warned fits, both of shape (2, n_sizes)."""
    order = _split_order(codes, n_test, rng)
    train, test = order[:-n_test], order[-n_test:]
    test_rows, truth = _safe_indexing(X, test), np.asarray(y)[test]
    errors = np.empty((2, sizes.size))
    warned = np.zeros((2, sizes.size), dtype=np.int64)
    for j, size in enumerate(sizes):
        rows = np.sort(train[:size])
        part, labels = _safe_indexing(X, rows), _safe_indexing(y, rows)
        for i, model in enumerate(pair):
            # On few rows most repeats would say the same: warnings are counted, not repeated.
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fitted = clone(model).fit(part, labels)
            warned[i, j] = int(bool(caught))
            errors[i, j] = float(np.mean(np.asarray(fitted.predict(test_rows)) != truth))
    return errors, warned


def _split_order(codes: NDArray[np.intp], n_test: int, rng: np.random.Generator) -> IntArray:
    """A random order with one row of each class in front; the last ``n_test`` rows are for testing."""
    order = rng.permutation(codes.size)
    _, first = np.unique(codes[order], return_index=True)
    leading = np.zeros(order.size, dtype=np.bool_)
    leading[first] = True
    return np.concatenate([order[leading], order[~leading]]).astype(np.int64)


def _reach(values: FloatArray, chance: float) -> FloatArray:
    """Half the width of t intervals, over the last axis, that miss the mean with probability ``chance``."""
    n = values.shape[-1]
    critical = float(stats.t.ppf(1.0 - 0.5 * chance, n - 1))
    reach: FloatArray = critical / math.sqrt(n) * values.std(axis=-1, ddof=1)
    return reach


def _leads(errors: FloatArray) -> IntArray:
    """Signs of the differences that are clear at all sizes together."""
    gaps = errors[1] - errors[0]
    mean, reach = gaps.mean(axis=1), _reach(gaps, (1.0 - LEVEL) / gaps.shape[0])
    return np.where(np.abs(mean) > reach, np.sign(mean), 0.0).astype(np.int64)


def _crossing(sizes: IntArray, errors: FloatArray) -> Crossing | None:
    """Where the mean difference of the errors turns in favor of the discriminative model, with an interval.

    None unless both models lead clearly, the generative one first.
    """
    leads = _leads(errors)
    if not (leads[-1] < 0 and np.any(leads > 0)):
        return None
    gaps = errors[1] - errors[0]
    size = _turning_point(sizes, gaps.mean(axis=1))
    if size is None:
        return None
    # The resampling has a seed of its own: the same errors always give the same interval.
    draws = np.random.default_rng(0).integers(0, gaps.shape[1], (N_RESAMPLES, gaps.shape[1]))
    found = [_turning_point(sizes, gaps[:, draw].mean(axis=1)) for draw in draws]
    crossed = [value for value in found if value is not None]
    if len(crossed) < 0.5 * N_RESAMPLES:
        return Crossing(size, math.nan, math.nan)
    lower, upper = np.quantile(crossed, [0.025, 0.975])
    return Crossing(size, float(lower), float(upper))


def _turning_point(sizes: IntArray, gap: FloatArray) -> float | None:
    """The last change from above to below zero, interpolated on the logarithmic scale of the sizes."""
    if not gap[-1] < 0.0:
        return None
    ahead = np.flatnonzero(gap > 0.0)
    if ahead.size == 0:
        return None
    before = int(ahead[-1])
    share = gap[before] / (gap[before] - gap[before + 1])
    low, high = np.log(sizes[before]), np.log(sizes[before + 1])
    return float(np.exp(low + share * (high - low)))
