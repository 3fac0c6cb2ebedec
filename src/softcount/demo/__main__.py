"""The main job on embedded data: short messages, a few of them labeled spam or ham.

python -m softcount.demo
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass
from typing import Any

from softcount.demo import load_messages

N_LABELS = 40
N_DRAWS = 10


@dataclass(frozen=True)
class Draw:
    """One random choice of the messages that have a label, and of those to test on."""

    X: Any
    y: list[str | None]
    X_test: Any
    y_test: list[str]
    words: Any


def draw_messages(seed: int, n_labels: int) -> Draw:
    """Word counts of the embedded messages: a third to test on, ``n_labels`` of the others with their label."""
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer

    texts, labels = load_messages()
    order = np.random.default_rng(seed).permutation(len(texts))
    test, train = order[: len(texts) // 3], order[len(texts) // 3 :]
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform([texts[i] for i in train])
    y = [labels[i] if place < n_labels else None for place, i in enumerate(train)]
    X_test = vectorizer.transform([texts[i] for i in test])
    return Draw(X, y, X_test, [labels[i] for i in test], vectorizer.get_feature_names_out())


def fit_both(draw: Draw) -> tuple[Any, Any]:
    """Naive Bayes of the labeled messages alone, and of all of them."""
    from softcount import MultinomialNB

    known = [i for i, label in enumerate(draw.y) if label is not None]
    alone = MultinomialNB().fit(draw.X[known], [draw.y[i] for i in known])
    return alone, MultinomialNB().fit(draw.X, draw.y)


def main() -> None:
    """Fit with and without the unlabeled messages, and say what they were worth."""
    draws = [draw_messages(seed, N_LABELS) for seed in range(N_DRAWS)]
    fits = [fit_both(draw) for draw in draws]
    before = sum(a.score(d.X_test, d.y_test) for (a, _), d in zip(fits, draws, strict=True)) / N_DRAWS
    after = sum(b.score(d.X_test, d.y_test) for (_, b), d in zip(fits, draws, strict=True)) / N_DRAWS
    n_unlabeled = len(draws[0].y) - N_LABELS
    first = fits[0][1]
    lines = [
        f"{len(draws[0].y)} short messages, {N_LABELS} of them labeled; {len(draws[0].y_test)} others to test on.",
        f"Accuracy on the test messages, mean of {N_DRAWS} random choices of the {N_LABELS}:",
        "",
        f"    {f'the {N_LABELS} labeled messages alone':<40} {before:.3f}",
        f"    {f'with the {n_unlabeled} unlabeled ones as well':<40} {after:.3f}",
        "",
        "In the first choice:",
        "",
    ]
    for label, top in first.top_features(10).items():
        words = ", ".join(str(draws[0].words[int(name[1:])]) for name, _ in top)
        lines.append(f"    words that say {label}: {words}")
    verdict = textwrap.fill(str(first.unlabeled_verdict_), 100, initial_indent="    ", subsequent_indent="    ")
    sys.stdout.write("\n".join([*lines, "", verdict, ""]))


if __name__ == "__main__":
    main()
