"""Texts to counts with a vocabulary, against scikit-learn's CountVectorizer, in megabytes per second."""

import time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.kernels.timing import parse_arguments
from softcount import kernels

N_DOCUMENTS, WORDS_PER_DOCUMENT, N_WORDS = 80_000, 100, 100_000


def zipf_documents(n: int, letters: str, rng: np.random.Generator) -> list[str]:
    """Sentences of Zipf-distributed words made of the given letters."""
    lengths = rng.integers(2, 11, size=N_WORDS)
    words = ["".join(rng.choice(list(letters), size=length)) for length in lengths]
    cumulative = np.cumsum(1.0 / np.arange(1, N_WORDS + 1))
    picks = np.searchsorted(cumulative / cumulative[-1], rng.random((n, WORDS_PER_DOCUMENT))).clip(max=N_WORDS - 1)
    return [" ".join(words[i] for i in row).capitalize() + "." for row in picks]


def main() -> None:
    """Print the table."""
    arguments = parse_arguments()
    n = int(N_DOCUMENTS * arguments.scale)
    print(f"kernels: {kernels.backend()}, threads: {arguments.threads}")
    print(f"{'':22}{'ours MB/s':>12}{'sklearn MB/s':>14}{'ratio':>8}")
    for name, letters in (("ASCII", "etaoinshrdlucmfw"), ("Cyrillic", "оеаинтсрвлкмдпуя")):
        documents = zipf_documents(n, letters, np.random.default_rng(0))
        megabytes = sum(len(document.encode()) for document in documents) / 1e6
        vectorizer = CountVectorizer()
        start = time.perf_counter()
        expected = vectorizer.fit_transform(documents)
        learned = time.perf_counter() - start
        start = time.perf_counter()
        vectorizer.transform(documents)
        counted = time.perf_counter() - start
        ours_learned, ours_counted = [], []
        for _ in range(arguments.rounds):
            start = time.perf_counter()
            vocabulary, counts = kernels.learn_words(documents, arguments.threads)
            ours_learned.append(time.perf_counter() - start)
            counter = kernels.word_counter(vocabulary)
            start = time.perf_counter()
            counter(documents, arguments.threads)
            ours_counted.append(time.perf_counter() - start)
        assert vocabulary == vectorizer.get_feature_names_out().tolist()
        assert counts.data.sum() == expected.sum()
        for what, ours, rival in (("learn", min(ours_learned), learned), ("count", min(ours_counted), counted)):
            rates = f"{megabytes / ours:12.1f}{megabytes / rival:14.1f}{rival / ours:8.1f}"
            print(f"{name + ', ' + what:22}{rates}", flush=True)


if __name__ == "__main__":
    main()
