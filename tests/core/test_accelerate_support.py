"""A leap leaves weight in cells and zeros in yes/no columns that had some; components of a class start apart."""

import numpy as np

from softcount import MultinomialNB
from softcount.core.accelerate import extrapolate
from softcount.core.counts import Counts
from softcount.families.statistics import Moments, Sums


def trail_of(name, make, values):
    classes = Sums({"weight": np.array([5.0, 5.0])})
    return [Counts({"classes": classes, name: make(value)}, 0.0) for value in values]


def test_a_leap_never_takes_all_weight_from_a_cell_that_had_some():
    def make(weight):
        one = np.ones((1, 2))
        return Moments(np.array([[weight, 4.0]]), one, 2.0 * one)

    leap = extrapolate(trail_of("0", make, (3.0, 1.5, 0.75)))
    assert leap is None or (leap.parts["0"].weight > 0.0).all()


def test_a_leap_never_takes_all_zeros_from_a_column_that_had_some():
    def make(total):
        return Sums({"sum": np.array([[total, 5.0]]), "weight": np.array([[10.0, 10.0]])})

    leap = extrapolate(trail_of("0", make, (7.0, 8.5, 9.25)))
    assert leap is None or (leap.parts["0"]["sum"] < leap.parts["0"]["weight"]).all()


def test_several_components_of_a_class_start_far_apart():
    rng = np.random.default_rng(0)
    kinds = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]])
    X = np.array([rng.multinomial(40, kinds[i % 2]) for i in range(400)])
    y = np.array(["a"] * 300 + ["b"] * 100)
    distances = []
    for seed in range(10):
        model = MultinomialNB(
            n_components_per_class={"a": 2}, max_iter=0, tol=0.0, n_init=1, random_state=seed, unlabeled_weight=1.0
        ).fit(X, y)
        first, second = np.exp(model.feature_log_prob_[:2])
        distances.append(np.abs(first - second).sum())
    assert np.median(distances) > 0.15
