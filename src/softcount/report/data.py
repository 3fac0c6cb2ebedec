"""The one structure that every rendering of a report is made from.

Everything in it is plain, finite in number and cut to length when it is made, whatever the data: see :data:`LIMITS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "LIMITS",
    "SCHEMA",
    "Advice",
    "Bin",
    "Cell",
    "Class",
    "ClassEvidence",
    "Column",
    "Confusion",
    "Feature",
    "Level",
    "Limits",
    "Quality",
    "Report",
    "Row",
    "Rows",
    "Unlabeled",
    "Verdict",
]

#: Name and version of the structure; the version grows when something in it is renamed, removed or means another thing.
SCHEMA = "softcount.report/1"


@dataclass(frozen=True)
class Limits:
    """How much a report holds at most; together they keep a page far below 5 MB.

    Attributes
    ----------
    cell, name, reason, sentence, command, feature : int
        Characters of a cell, of a name (class, column, file), of a reason, of a sentence, of the command, of a feature.
    columns, cells : int
        Columns that are listed, and cells that are shown of a row.
    classes, matrix, evidence, features : int
        Classes that are listed, that a confusion matrix is given for, that evidence is given for, and pieces of
        evidence per class.
    confusions, least_sure, suspects, next, warnings : int
        Entries of these lists.
    """

    cell: int = 300
    name: int = 120
    reason: int = 200
    sentence: int = 600
    command: int = 2_000
    feature: int = 80
    columns: int = 300
    cells: int = 8
    classes: int = 1_000
    matrix: int = 70
    evidence: int = 100
    features: int = 12
    confusions: int = 50
    least_sure: int = 30
    suspects: int = 60
    next: int = 30
    warnings: int = 40


LIMITS = Limits()


@dataclass(frozen=True)
class Advice:
    """What would help, and why."""

    do: str
    why: str


@dataclass(frozen=True)
class Verdict:
    """The report in words.

    Attributes
    ----------
    grade : {"unknown", "not shown to work", "better than guessing", "clearly better than guessing"}
    headline : str
    sentences : tuple of str
    advice : tuple of Advice
        What would help most, the most helpful first.
    """

    grade: str
    headline: str
    sentences: tuple[str, ...]
    advice: tuple[Advice, ...]


@dataclass(frozen=True)
class Class:
    """One class.

    Attributes
    ----------
    name : str
    n_labels : int
        Labeled rows.
    n_held_out : float or None
        Of these, how many were answered without the model having seen their labels.
    recall, precision : float or None
        Share of its rows that are found, and of the answers naming it that are right.
    recall_interval, precision_interval : tuple of float or None
        95 % intervals.
    share_of_unlabeled : float or None
        Share of the rows without a label that are predicted to be of this class.
    """

    name: str
    n_labels: int
    n_held_out: float | None = None
    recall: float | None = None
    recall_interval: tuple[float, float] | None = None
    precision: float | None = None
    precision_interval: tuple[float, float] | None = None
    share_of_unlabeled: float | None = None


@dataclass(frozen=True)
class Bin:
    """Answers stated with about the same probability: mean stated, share of hits, its 95 % interval, and how many."""

    stated: float
    observed: float
    interval: tuple[float, float]
    n_rows: float


@dataclass(frozen=True)
class Level:
    """Answers stated with at least some probability: their share of all, how many, and how many are right."""

    at_least: float
    share: float
    n_rows: float
    accuracy: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Confusion:
    """Rows of one class that are taken for another."""

    label: str
    predicted: str
    n_rows: float


@dataclass(frozen=True)
class Quality:
    """How good the answers are.

    Attributes
    ----------
    how : {"held out", "of this table"}
        Where the answers come from: cross-validation in training, or another table.
    n_rows : int
    accuracy : float
    accuracy_interval : tuple of float
        95 % interval.
    commonest_class : str
    accuracy_of_commonest_class : float
        Of always saying the commonest class.
    log_loss, log_loss_before_calibration : float
    calibration : {"none", "temperature", "isotonic"}
    calibration_error, calibration_error_before : float
        Mean distance between stated and observed probability.
    reliability, reliability_before : tuple of Bin
    levels : tuple of Level
    confusion : tuple of tuple of float, or None
        Rows by class (row) and predicted class (column), in the order of ``Report.classes``; None for many classes.
    confusions : tuple of Confusion
        The commonest mistakes.
    n_confusions : int
        How many pairs of classes are confused at all.
    """

    how: str
    n_rows: int
    accuracy: float
    accuracy_interval: tuple[float, float]
    commonest_class: str
    accuracy_of_commonest_class: float
    log_loss: float
    log_loss_before_calibration: float
    calibration: str
    calibration_error: float
    calibration_error_before: float
    reliability: tuple[Bin, ...]
    reliability_before: tuple[Bin, ...]
    levels: tuple[Level, ...]
    confusion: tuple[tuple[float, ...], ...] | None
    confusions: tuple[Confusion, ...]
    n_confusions: int


@dataclass(frozen=True)
class Feature:
    """A word, value or column, and by how much it speaks for a class."""

    name: str
    score: float


@dataclass(frozen=True)
class ClassEvidence:
    """What speaks most for a class."""

    name: str
    features: tuple[Feature, ...]


@dataclass(frozen=True)
class Cell:
    """What a row holds in a column."""

    column: str
    text: str


@dataclass(frozen=True)
class Row:
    """One row of the data.

    Attributes
    ----------
    where : str
        Where it is in its file.
    cells : tuple of Cell
    label : str or None
    predicted, second : str
        The most probable class and the next one.
    probability, second_probability : float
    label_probability : float or None
        Of the label, if there is one.
    reason : str
        Why the row is shown.
    """

    where: str
    cells: tuple[Cell, ...]
    label: str | None
    predicted: str
    probability: float
    second: str
    second_probability: float
    label_probability: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Rows:
    """Some rows, and of how many they were taken.

    Attributes
    ----------
    rows : tuple of Row
    n_found : int
        Rows that qualify, of which these are the first.
    n_searched, n_all : int
        Rows that were looked at, of how many.
    n_expected : float or None
        How many would qualify by chance.
    """

    rows: tuple[Row, ...]
    n_found: int
    n_searched: int
    n_all: int
    n_expected: float | None = None


@dataclass(frozen=True)
class Unlabeled:
    """Whether rows without a label helped.

    Attributes
    ----------
    n_rows : int
    use : {"none", "marginals", "full"}
    verdict : str or None
        None where it was not asked, because it was decided by an option.
    accuracy_without, accuracy_with : float or None
    difference : float or None
    difference_interval : tuple of float or None
        90 % interval of the gain in accuracy.
    """

    n_rows: int
    use: str
    verdict: str | None
    accuracy_without: float | None
    accuracy_with: float | None
    difference: float | None
    difference_interval: tuple[float, float] | None


@dataclass(frozen=True)
class Column:
    """A column: what it was taken for, why, and how much of it is missing."""

    name: str
    role: str
    reason: str
    missing_share: float | None


@dataclass(frozen=True)
class Report:
    """All a report says; ``job`` is "train" or "evaluate", and parts that a job does not have are None.

    Attributes
    ----------
    job, command, created : str
        What was done, the command that does it again, and when (UTC).
    versions : dict of str to str
    model, sha256 : str
        The model file and its fingerprint.
    data : tuple of str
        The files.
    label : str
        The column of labels.
    n_rows, n_labeled : int
    n_classes : int
    classes : tuple of Class
    verdict : Verdict
    evaluation : Quality or None
        None where no label could be held out.
    evidence : tuple of ClassEvidence
    least_sure, suspects, next : Rows or None
        Rows the model is least sure of, labels that look wrong, and rows to label next.
    unlabeled : Unlabeled or None
    n_columns : int
    columns : tuple of Column
    warnings : tuple of str
    event_model : str
    alpha : float
    converged : bool
    n_iter : int
    """

    job: str
    command: str
    created: str
    versions: dict[str, str]
    model: str
    sha256: str
    data: tuple[str, ...]
    label: str
    n_rows: int
    n_labeled: int
    n_classes: int
    classes: tuple[Class, ...]
    verdict: Verdict
    evaluation: Quality | None
    evidence: tuple[ClassEvidence, ...]
    least_sure: Rows | None
    suspects: Rows | None
    next: Rows | None
    unlabeled: Unlabeled | None
    n_columns: int
    columns: tuple[Column, ...]
    warnings: tuple[str, ...]
    event_model: str
    alpha: float
    converged: bool
    n_iter: int
    schema: str = field(default=SCHEMA, init=False)
