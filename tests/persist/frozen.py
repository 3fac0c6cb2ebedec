"""Model files as earlier versions wrote them, kept in ``files``: ``python -m tests.persist.frozen`` writes today's.

A file once added is never written again: it is what users have. When the format changes, run this once before the
change is released, and add what it writes; the files of the formats before stay beside it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import softcount
from softcount.estimators.table import TableClassifier
from softcount.persist.registry import FORMAT

FILES = Path(__file__).parent / "files"

TABLE = {
    "text": ["win a prize now", "lunch at noon", "a prize, win it", "Mittag um zwölf", "free prize", "lunch?"],
    "color": ["red", "blue", "red", "?", "red", "blue"],
    "size": ["1.5", "4.5", "1.25", "5", "", "4.75"],
}
NUMBERS = [[0.5, 1.0], [0.25, 1.5], [2.5, -1.0], [2.0, -1.5], [0.75, 0.5], [2.25, -0.5]]
COUNTS = [[2, 0, 1], [1, 0, 2], [0, 3, 0], [0, 2, 1], [1, 1, 1], [0, 2, 0]]
LABELS = np.array(["spam", "ham", "spam", "ham", None, None], dtype=object)
SIDES = ["left", "left", "right", "right", "left", "right"]

#: Name -> a fitted estimator, and the X it is asked about.
CASES: dict[str, tuple[Any, Any]] = {
    "table": (lambda: TableClassifier().fit(TABLE, LABELS), TABLE),
    "words": (lambda: softcount.MultinomialNB().fit(COUNTS, LABELS), COUNTS),
    "gaussian": (lambda: softcount.GaussianNB(calibrate="temperature").fit(NUMBERS, SIDES), NUMBERS),
    "discriminant": (lambda: softcount.GaussianDiscriminant(shrinkage=0.1).fit(NUMBERS, SIDES), NUMBERS),
    "mixture": (lambda: softcount.PoissonMixture(n_components=2, random_state=0).fit(COUNTS), COUNTS),
    "logistic": (lambda: softcount.LogisticRegression().fit(NUMBERS, SIDES), NUMBERS),
    "glm": (lambda: softcount.GLM(family="poisson", alpha=0.1).fit(NUMBERS, [1, 0, 3, 2, 1, 4]), NUMBERS),
}


def answers(model: Any, X: Any) -> list[Any]:
    """What a model says of each row: probabilities, or means."""
    found: list[Any] = (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(X).tolist()
    return found


def main() -> None:
    """Write the files of today's format, unless they are there."""
    FILES.mkdir(exist_ok=True)
    listed = FILES / f"format-{FORMAT}.json"
    if listed.exists():
        sys.exit(f"{listed} exists: files of a format are written once.")
    expected = {}
    for name, (fit, X) in CASES.items():
        model = fit()
        model.save(FILES / f"format-{FORMAT}-{name}.softcount")
        expected[name] = answers(model, X)
    listed.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
