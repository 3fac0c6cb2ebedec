"""The main job on embedded data: short messages, a few of them labeled spam or ham.

    python -m softcount.demo
"""

from __future__ import annotations

import sys
from typing import Any

from softcount.demo import load_messages

N_LABELS = 20
SEED = 0


def split(seed: int, n_labels: int) -> tuple[Any, Any, Any, Any]:
    """Training counts with a few labels (the others None), test counts and their labels, and the words."""
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer

    texts, labels = load_messages()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(texts))
    n_test = len(texts) // 3
    test, train = order[:n_test], order[n_test:]
    vectorizer = CountVectorizer()
    X_train = vectorizer.fit_transform([texts[i] for i in train])
    X_test = vectorizer.transform([texts[i] for i in test])
    y_train: list[str | None] = [labels[i] for i in train]
    y_train[n_labels:] = [None] * (len(y_train) - n_labels)
    return (X_train, y_train), (X_test, [labels[i] for i in test]), vectorizer.get_feature_names_out(), len(train)


def main() -> None:
    """Fit with and without the unlabeled messages, and say what they were worth."""
    import numpy as np

    from softcount import MultinomialNB

    (X, y), (X_test, y_test), words, n_train = split(SEED, N_LABELS)
    known = np.array([label is not None for label in y])
    alone = MultinomialNB().fit(X[known], [label for label in y if label is not None])
    both = MultinomialNB().fit(X, y)
    before, after = alone.score(X_test, y_test), both.score(X_test, y_test)
    write = sys.stdout.write
    write(f"{n_train} messages to learn from, {N_LABELS} of them labeled; {len(y_test)} others to test on.\n\n")
    write(f"accuracy with the {N_LABELS} labeled messages alone:    {before:.3f}\n")
    write(f"accuracy with the {n_train - N_LABELS} unlabeled ones as well:  {after:.3f}\n")
    write(f"({both.n_iter_} iterations of EM)\n\n")
    for label, top in both.top_features(10).items():
        names = ", ".join(str(words[int(name[1:])]) for name, _ in top)
        write(f"words that say {label}: {names}\n")
    write("\n" + verdict(before, after, n_train - N_LABELS) + "\n")


def verdict(before: float, after: float, n_unlabeled: int) -> str:
    """What the unlabeled messages were worth on the test messages, in a sentence."""
    if after > before:
        return f"Using the {n_unlabeled} unlabeled messages raised accuracy from {before:.2f} to {after:.2f}."
    return f"The {n_unlabeled} unlabeled messages did not help: accuracy went from {before:.2f} to {after:.2f}."


if __name__ == "__main__":
    main()
