"""The data sets of the study, with a training part to draw labels from and a test part.

Three kinds: softcount's own messages, what comes with scikit-learn, and sets that lie beside the checkout
(``../shared/data``, or the folder in ``SOFTCOUNT_DATA``), which are skipped where they are absent.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import train_test_split

from softcount import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes
from softcount.demo import load_messages

__all__ = ["DATA_SETS", "DataSet", "MissingDataError", "load"]

REPOSITORY = Path(__file__).resolve().parents[2]
#: Where a set has no test part of its own, this part of it is drawn, once.
TEST_SHARE, SPLIT_SEED = 0.3, 1


class MissingDataError(Exception):
    """The set lies outside the repository, and not where it was looked for."""


@dataclass(frozen=True)
class DataSet:
    """Training rows with all their labels, test rows, and the classifier that suits them.

    Attributes
    ----------
    X, X_test : table
    y, y_test : integer arrays
    classifier : callable
        Makes an unfitted classifier from keyword arguments.
    numbers : callable or None
        Rows as numbers with distances between them, for label spreading; None where it does not fit into memory.
    labels_per_class : bool
        Whether labels are drawn per class; otherwise from all rows, every class at least once.
    """

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    classifier: Callable[..., Any]
    numbers: Callable[[Any], NDArray[np.float64]] | None = None
    labels_per_class: bool = False


def _file(path: str) -> Path:
    asked_for = os.environ.get("SOFTCOUNT_DATA")
    folder = Path(asked_for) if asked_for else REPOSITORY.parent / "shared" / "data"
    if not (folder / path).is_file():
        raise MissingDataError(f"no file {path} in {os.path.relpath(folder, REPOSITORY)}")
    return folder / path


def _table(path: str) -> Any:
    import pandas as pd

    file = _file(path)
    return pd.read_parquet(file) if path.endswith(".parquet") else pd.read_csv(file)


def _split(X: Any, y: Any, **settings: Any) -> DataSet:
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(X, codes, test_size=TEST_SHARE, random_state=SPLIT_SEED)
    return DataSet(X, y, X_test, y_test, **settings)


# ---- texts
def _texts(train: Any, y: Any, test: Any, y_test: Any, *, vectorizer: Any = None, **settings: Any) -> DataSet:
    """Raw word counts where nothing else is asked for; words that occur in a single training text are left out."""
    vectorizer = CountVectorizer(min_df=2) if vectorizer is None else vectorizer
    X = csr_array(vectorizer.fit_transform(train))
    return DataSet(X, y, csr_array(vectorizer.transform(test)), y_test, MultinomialNB, **settings)


def _split_texts(texts: Any, labels: Any, **settings: Any) -> DataSet:
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    train, test, y, y_test = train_test_split(list(texts), codes, test_size=TEST_SHARE, random_state=SPLIT_SEED)
    return _texts(train, y, test, y_test, **settings)


def _unit_rows(X: Any) -> NDArray[np.float64]:
    dense = np.asarray(X.todense(), dtype=np.float64)
    return np.asarray(dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-300))


def messages() -> DataSet:
    """The short messages that come with softcount."""
    return _split_texts(*load_messages(), numbers=_unit_rows)


def messages_tfidf() -> DataSet:
    """The same, with frequencies weighted by rarity and rows of length one, as scikit-learn does by default."""
    return _split_texts(*load_messages(), vectorizer=TfidfVectorizer(min_df=2), numbers=_unit_rows)


def sms() -> DataSet:
    """SMS, wanted and unwanted, without duplicates."""
    table = _table("sms_spam/sms_spam.parquet").drop_duplicates("text")
    return _split_texts(table["text"], table["label"], numbers=_unit_rows)


def enron() -> DataSet:
    """Mail, wanted and unwanted."""
    table = _table("enron_spam/enron_spam.parquet").fillna("")
    return _split_texts(table["subject"] + "\n" + table["text"], table["label"])


def _newsgroups(class_of: Callable[[str], str]) -> DataSet:
    """20 Newsgroups by date, headers stripped, labels per class."""
    table = _table("newsgroups/20news-bydate.parquet")
    bodies = [text.replace("\r\n", "\n").partition("\n\n")[2] for text in table["text"]]
    codes = np.unique([class_of(name) for name in table["newsgroup"]], return_inverse=True)[1]
    train = np.flatnonzero(table["split"] == "train")
    test = np.flatnonzero(table["split"] != "train")
    texts = np.array(bodies, dtype=object)
    return _texts(texts[train], codes[train], texts[test], codes[test], labels_per_class=True)


def newsgroups() -> DataSet:
    """Twenty groups."""
    return _newsgroups(str)


def newsgroups_topics() -> DataSet:
    """The four large hierarchies comp, rec, sci and talk (with the rest): classes of many groups each."""
    return _newsgroups(lambda name: part if (part := name.partition(".")[0]) in {"comp", "rec", "sci"} else "talk")


def newsgroups_odd() -> DataSet:
    """Every second group against the others: classes that no topic separates, where mixtures mislead."""
    names = sorted(set(_table("newsgroups/20news-bydate.parquet")["newsgroup"]))
    return _newsgroups(lambda name: str(names.index(name) % 2))


# ---- categories and mixed tables
def _codes(table: Any) -> NDArray[np.float64]:
    """Categories as numbers, missing cells as NaN."""
    columns = []
    for name in table.columns:
        codes = table[name].astype("category").cat.codes.to_numpy().astype(np.float64)
        columns.append(np.where(codes < 0, np.nan, codes))
    return np.column_stack(columns)


def _one_hot(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([(X[:, [j]] == np.arange(13)).astype(np.float64) for j in range(X.shape[1])], axis=1)


def votes() -> DataSet:
    """Votes of members of the House and their party."""
    table = _table("house_votes_84/house_votes_84.csv")
    return _split(_codes(table.drop(columns="party")), table["party"], classifier=CategoricalNB, numbers=_one_hot)


def mushroom() -> DataSet:
    """Mushrooms, edible or not."""
    table = _table("mushroom/mushroom.csv.gz").replace("?", None)
    X = _codes(table.drop(columns="class"))
    return _split(X, table["class"], classifier=CategoricalNB, numbers=_one_hot)


def adult() -> DataSet:
    """Incomes: numbers and categories in one table; categories as codes, which self-training can read."""
    table = _table("adult/adult.parquet")
    train = (table["split"] == "train").to_numpy()
    y = table["income"].str.contains(">50K").to_numpy().astype(np.int64)
    table = table.drop(columns=["split", "income"])
    numbers = set(table.select_dtypes("number"))
    for name in set(table) - numbers:
        text = table[name].astype(str).str.strip()
        table[name] = text.where(text != "?", None)
    X = np.column_stack([table[name] if name in numbers else _codes(table[[name]])[:, 0] for name in table])
    families = ["gaussian" if name in numbers else "categorical" for name in table]
    return DataSet(X[train], y[train], X[~train], y[~train], partial(NaiveBayes, families=families))


# ---- numbers and pixels
def breast_cancer() -> DataSet:
    """Cell measurements."""
    X, y = load_breast_cancer(return_X_y=True)
    return _split(X, y, classifier=GaussianNB, numbers=_standardized)


def wine() -> DataSet:
    """Chemical measurements of three cultivars."""
    X, y = load_wine(return_X_y=True)
    return _split(X, y, classifier=GaussianNB, numbers=_standardized)


def _standardized(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def digits() -> DataSet:
    """Small digits, a pixel being set or not."""
    X, y = load_digits(return_X_y=True)
    return _split((X > 7).astype(np.float64), y, classifier=BernoulliNB, numbers=np.asarray)


def mnist() -> DataSet:
    """Digits, a pixel being set or not."""

    def read(name: str, skip: int) -> NDArray[np.uint8]:
        return np.frombuffer(gzip.decompress(_file(f"mnist/{name}.gz").read_bytes()), np.uint8, offset=skip)

    def pixels(name: str) -> csr_array:
        return csr_array((read(name, 16).reshape(-1, 784) > 127).astype(np.float64))

    y = read("train-labels-idx1-ubyte", 8).astype(np.int64)
    y_test = read("t10k-labels-idx1-ubyte", 8).astype(np.int64)
    return DataSet(pixels("train-images-idx3-ubyte"), y, pixels("t10k-images-idx3-ubyte"), y_test, BernoulliNB)


DATA_SETS: dict[str, Callable[[], DataSet]] = {
    function.__name__: function
    for function in (
        messages,
        messages_tfidf,
        digits,
        breast_cancer,
        wine,
        votes,
        mushroom,
        sms,
        adult,
        enron,
        mnist,
        newsgroups,
        newsgroups_topics,
        newsgroups_odd,
    )
}


@lru_cache(maxsize=1)
def load(name: str) -> DataSet:
    """A data set by name; the last one stays in memory."""
    return DATA_SETS[name]()
