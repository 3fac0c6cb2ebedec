"""What the kernels compute, written as slowly and plainly as possible: one cell at a time, with exact sums.

Every function returns the values and, beside them, the sum of the absolute terms of each value. Rounding
is proportional to that sum and not to the value itself, in which large terms may have cancelled.
"""

from collections.abc import Iterable
from math import exp, fsum, inf, isnan, log, pi

import numpy as np

RELATIVE = 1e-12


class Sums:
    """Cells that terms are added to, to be summed exactly at the end."""

    def __init__(self, start):
        self.start = np.array(start, dtype=np.float64)
        self.terms = {}

    def add(self, where, term):
        self.terms.setdefault(where, []).append(term)

    def result(self):
        value, size = self.start.copy(), np.abs(self.start)
        for where, terms in self.terms.items():
            if -inf in terms:
                value[where] = -inf
            else:
                value[where] = fsum([*terms, value[where]])
                size[where] = fsum([abs(term) for term in terms]) + abs(self.start[where])
        return value, size


def assert_equal(got, expected):
    """Equal to a relative error of 1e-12; infinities in the same places; never NaN."""
    value, size = expected
    assert not np.isnan(got).any()
    np.testing.assert_array_equal(np.isneginf(got), np.isneginf(value))
    finite = np.isfinite(value)
    assert np.isfinite(got[finite]).all()
    error = np.abs(got[finite] - value[finite])
    assert (error <= RELATIVE * np.asarray(size)[finite] + 1e-300).all(), error.max()


def product_terms(X, table) -> Iterable[tuple[int, int, float]]:
    """The terms of ``X @ table``, zero times anything being nothing."""
    for i, j in zip(*np.nonzero(X), strict=True):
        if isnan(X[i, j]):
            continue
        for k in range(table.shape[1]):
            yield int(i), k, float(X[i, j]) * float(table[j, k])


def scores(X, table, start):
    sums = Sums(start)
    for i, k, term in product_terms(X, table):
        sums.add((i, k), term)
    return sums.result()


def accumulate(X, resp, start):
    return scores(np.asarray(X).T, resp, start)


def class_counts(X, class_codes, weight, start):
    return accumulate(X, member(class_codes, weight, np.shape(start)[1]), start)


def member(class_codes, weight, n_classes):
    resp = np.zeros((len(class_codes), n_classes))
    for i, k in enumerate(class_codes):
        if k >= 0:
            resp[i, k] = 1.0 if weight is None else weight[i]
    return resp


def one_hot(codes, offsets, missing):
    """Categorical cells as a dense 0/1 table."""
    X = np.zeros((codes.shape[0], int(offsets[-1])))
    for i, row in enumerate(codes):
        for j, code in enumerate(row):
            if code != missing:
                X[i, offsets[j] + code] = 1.0
    return X


def gaussian_scores(X, mean, precision, start):
    sums = Sums(start)
    for i, j in np.ndindex(X.shape):
        x = float(X[i, j])
        for k in range(mean.shape[1]):
            if not isnan(x):
                p = float(precision[j, k])
                sums.add((i, k), 0.5 * log(p / (2 * pi)))
                sums.add((i, k), -0.5 * p * (x - float(mean[j, k])) ** 2)
    return sums.result()


def gaussian_moments(X, resp, center, starts):
    moments = [Sums(start) for start in starts]
    for i, j in np.ndindex(X.shape):
        for k in range(resp.shape[1]):
            if not isnan(X[i, j]):
                shifted, r = float(X[i, j]) - float(center[j, k]), float(resp[i, k])
                for power, sums in enumerate(moments):
                    sums.add((j, k), r * shifted**power)
    return [sums.result() for sums in moments]


def gaussian_full_scores(X, mean, precision_chol, log_det, start):
    sums = Sums(start)
    d = X.shape[1]
    for i, k in np.ndindex(np.shape(start)):
        sums.add((i, k), float(log_det[k]))
        sums.add((i, k), -0.5 * d * log(2 * pi))
        for b in range(d):
            z = fsum((float(X[i, a]) - float(mean[k, a])) * float(precision_chol[k, a, b]) for a in range(b + 1))
            sums.add((i, k), -0.5 * z * z)
    return sums.result()


def gaussian_full_moments(X, resp, center, starts):
    weight, first, scatter = (Sums(start) for start in starts)
    for i, k in np.ndindex(resp.shape):
        r = float(resp[i, k])
        shifted = [float(x) - float(c) for x, c in zip(X[i], center[k], strict=True)]
        weight.add((k,), r)
        for a, left in enumerate(shifted):
            first.add((k, a), r * left)
            for b, right in enumerate(shifted):
                scatter.add((k, a, b), r * left * right)
    return [sums.result() for sums in (weight, first, scatter)]


def normalize_rows(scores, row_weight, fallback_log_prob):
    """Responsibilities, log norms and the weighted sum of these."""
    resp, log_norm = np.zeros(scores.shape), np.zeros(scores.shape[0])
    for i, row in enumerate(scores):
        top = max(row)
        w = 1.0 if row_weight is None else float(row_weight[i])
        if top == -inf:
            parts, log_norm[i] = [exp(s) for s in fallback_log_prob], -inf
            resp[i] = [w * part for part in parts]
        else:
            parts = [exp(s - top) for s in row]
            log_norm[i] = top + log(fsum(parts))
            resp[i] = [w * part / fsum(parts) for part in parts]
    weights = np.ones(len(scores)) if row_weight is None else row_weight
    terms = [float(w * z) for w, z in zip(weights, log_norm, strict=True) if w != 0]
    return resp, log_norm, -inf if -inf in terms else fsum(terms)
