"""A classifier of tables as they come from files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softcount._errors import InputError
from softcount._types import FloatArray
from softcount.core.calibration import Calibration, fit_isotonic
from softcount.core.candidates import FULL, GIVEN, NONE
from softcount.core.chunks import Chunks, Rows
from softcount.core.crossfit import HeldOut
from softcount.core.execute import Executor, resolve_n_jobs
from softcount.core.journal import rows_digest
from softcount.core.learn import Learned, Plan, learn, warn_about
from softcount.core.mixture import CLASSES, MixtureModel
from softcount.core.unlabeled import can_choose, choose, held_out_as_given
from softcount.estimators._choosing import AUTO, Outcome
from softcount.estimators._grid import grid_for_folds
from softcount.estimators._parameters import check_number, documented
from softcount.estimators._tables import names_of_columns
from softcount.estimators.distant.training import DistantBlocks
from softcount.estimators.naive_bayes._base import BaseNaiveBayes
from softcount.estimators.table.held_out import held_out_answers
from softcount.estimators.table.settings import Setting, choose_setting
from softcount.estimators.table.streamed import TablesElsewhere, any_known, only_occurrence
from softcount.estimators.table.text import TextOptions
from softcount.estimators.table.treatment import CountedRows, Treatment
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import Block
from softcount.families.categorical import Categorical
from softcount.families.columns import ColumnFamily, PseudoCounts
from softcount.families.moment_prior import MomentPrior
from softcount.families.multinomial import Multinomial
from softcount.inputs.cells import MISSING_MARKS
from softcount.inputs.raw_table import RawTable
from softcount.inputs.roles import ColumnRole, decide_roles

__all__ = ["TableClassifier"]

EVENT_MODELS = ("multinomial", "bernoulli")
ALPHAS = (1.0, 0.1)

Listener = Callable[[str], None]


@documented
class TableClassifier(TablesElsewhere, BaseNaiveBayes):
    r"""Naive Bayes of whole tables: texts beside numbers, categories, counts and dates, from the labels there are.

    .. math:: \log p(x_i, k) = \log\pi_k + \sum_b \log p_{bk}(x_{ib})

    where a block b is a number, date, count or category, or all words of a text column. X is a data frame, an Arrow
    table or a mapping from names to cells, and may be all texts, as read from a CSV file: what each column is gets
    decided, with reasons (:meth:`column_report`), and columns that say nothing are left out.

    Parameters
    ----------
    roles : dict of str to str, optional
        What columns are: "text", "category", "number", "count", "date", or "id", "ignore" to leave one out.
    text : TextOptions, optional
        How texts are counted.
    event_model : {"auto", "multinomial", "bernoulli"}, default="auto"
        Whether words are counted or only their occurrence; "auto" decides by cross-validation.
    alpha : "auto" or float, default="auto"
        Pseudo-count of words and categories; "auto" decides between 1 and 0.1 by cross-validation.
    var_smoothing : float, default=1e-3
        Smallest variance of a column of numbers in any class, as a share of the column's own variance.
    missing_marks : sequence of str, optional
        Texts that stand for a missing value; by default the empty text, "?", "NA" and the like.
    fit_prior : bool, default=True
        Estimate the class probabilities; otherwise they are equal.
    class_prior : array-like of shape (n_classes,), optional
        Given class probabilities; divided by their sum, with a warning, where that is not 1.
    {shared}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    treatment_ : Treatment
        How every column is read.
    setting_ : Setting
        The event model and ``alpha``.
    evaluation_ : Evaluation or None
        Cross-validated accuracy and calibration on the labeled rows; None where none could be held out.
    held_out_ : Answers or None
        What was said of labeled rows while they were held out. It is not written to model files.
    counted_ : CountedRows or None
        The rows as they were counted, where ``fit`` was to keep them: what :meth:`predict_proba` takes in place of a
        table, without counting them again. They are not written to model files.

    Examples
    --------
    >>> table = {"message": ["win a free prize now", "free prize inside, win", "see you at lunch", "lunch at noon?"]}
    >>> model = TableClassifier().fit(table, ["spam", "spam", "ham", "ham"])
    >>> model.predict({"message": ["a prize for free", "no lunch today"]}).tolist()
    ['spam', 'ham']
    """

    def __init__(
        self,
        *,
        roles: Any = None,
        text: Any = None,
        event_model: str = "auto",
        alpha: Any = "auto",
        var_smoothing: float = 1e-3,
        missing_marks: Any = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_alpha: float = 0.0,
        missing_label: Any = np.nan,
        classes: Any = None,
        n_classes: int | None = None,
        soft_labels: str = "responsibility",
        unlabeled_weight: Any = "auto",
        calibrate: str = "auto",
        n_components_per_class: Any = 1,
        init: Any = None,
        n_init: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        accelerate: bool = False,
        annealing: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.roles = roles
        self.text = text
        self.event_model = event_model
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.missing_marks = missing_marks
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.class_alpha = class_alpha
        self.missing_label = missing_label
        self.classes = classes
        self.n_classes = n_classes
        self.soft_labels = soft_labels
        self.unlabeled_weight = unlabeled_weight
        self.calibrate = calibrate
        self.n_components_per_class = n_components_per_class
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.annealing = annealing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("var_smoothing", self.var_smoothing, 0)
        if self.alpha != AUTO:
            check_number("alpha", self.alpha, 0)
        if self.event_model != AUTO and self.event_model not in EVENT_MODELS:
            raise InputError(
                f"event_model is {self.event_model!r}; choose one of 'auto', {', '.join(map(repr, EVENT_MODELS))}."
            )
        if self.text is not None and not isinstance(self.text, TextOptions):
            raise InputError(f"text is a {type(self.text).__name__}; give TextOptions.")

    #: Fitted attributes about single rows of the training table, which have no place in a model file.
    not_saved = ("held_out_", "counted_")

    # ---- fitting
    treatment_: Treatment
    setting_: Setting
    counted_: CountedRows | None
    _listener: Listener | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        listener: Listener | None = None,
        *,
        keep_rows: bool = False,
    ) -> Self:
        """Fit to rows with known, missing or partly known labels.

        Parameters
        ----------
        X : data frame, Arrow table, RawTable or mapping
            Cells by column.
        y : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Labels; NaN, None, ``pd.NA`` or ``missing_label`` mark missing ones.
        sample_weight : array-like of shape (n_samples,), optional
        listener : callable, optional
            Is told in words what is being done.
        keep_rows : bool
            Keep the rows as they were counted, in ``counted_``.
        """
        self._listener, self.counted_ = listener, None
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._listener
        if not keep_rows:
            self.counted_ = None
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **forgetting: Any) -> Any:
        """Refused: what the columns are has to be decided from all rows."""
        raise InputError("TableClassifier learns from all rows at once; use fit.")

    def _tell(self, text: str) -> None:
        if self._listener is not None:
            self._listener(text)

    def _read_blocks(self, X: Any, *, reset: bool) -> tuple[Block, ...]:
        if isinstance(X, CountedRows):
            return self._as_events(X.blocks, self.setting_)
        table, n_threads = RawTable.of(X), resolve_n_jobs(self.n_jobs)
        if table.n_rows == 0:
            raise InputError("The table has no rows.")
        if not reset:
            return self._as_events(self.treatment_.blocks(table, n_threads), self.setting_)
        self._tell("looking at the columns")
        marks = MISSING_MARKS if self.missing_marks is None else frozenset(self.missing_marks)
        roles = self._roles_of(table)
        options = TextOptions() if self.text is None else self.text
        self._tell("counting words" if any(role.role == "text" for role in roles) else "reading cells")
        self.treatment_, blocks = Treatment.learn(table, roles, sorted(marks), options, n_threads)
        self.counted_ = CountedRows(blocks)
        self.n_features_in_ = len(table.columns)
        self.feature_names_in_ = np.array(list(table.columns), dtype=object)
        return blocks

    def _roles_of(self, table: RawTable) -> list[ColumnRole]:
        """What the columns are."""
        marks = MISSING_MARKS if self.missing_marks is None else frozenset(self.missing_marks)
        roles = decide_roles(table.columns, self.roles, marks, where=table.where)
        if not any(role.is_learned for role in roles):
            found = "; ".join(f"{role.name!r}: {role.role} ({role.reason})" for role in roles) or "no column at all"
            raise InputError(f"There is no column to learn from. Found {found}. Give a column another role.")
        return roles

    def _as_events(self, blocks: tuple[Block, ...], setting: Setting) -> tuple[Block, ...]:
        """Blocks of words as the event model wants them: counts, or where a word occurs."""
        if setting.event_model == "multinomial":
            return blocks
        return only_occurrence(blocks)

    def _settings(self) -> list[Setting]:
        events = EVENT_MODELS if self.event_model == AUTO else (self.event_model,)
        if not self.treatment_.counters:
            events = events[:1]
        alphas = ALPHAS if self.alpha == AUTO else (float(self.alpha),)
        return [Setting(event, alpha) for alpha in alphas for event in events]

    def _fit_with_choice(
        self, blocks: tuple[Block, ...], labels: Any, weight: FloatArray | None, classes: NDArray[Any]
    ) -> Outcome:
        if isinstance(blocks, DistantBlocks):
            return self._fit_elsewhere(blocks, classes)
        executor, plan = self._executor(), self._plan()

        def make_model(setting: Setting) -> MixtureModel:
            self.setting_ = setting
            return self._make_model(self._as_events(blocks, setting), classes)

        self._tell("choosing the event model and smoothing")
        grid = grid_for_folds(make_model(self._settings()[0]))
        chunks = Chunks(blocks, labels, weight, **grid)
        plan.journal.bind(lambda: rows_digest(chunks))
        self.setting_, self.setting_scores_ = choose_setting(
            self._settings(), make_model, self._as_events, executor=executor, chunks=chunks, plan=plan
        )
        model = make_model(self.setting_)
        chunks = Chunks(self._as_events(blocks, self.setting_), labels, weight, **grid)
        outcome, held, name = self._learned_from(model, executor, chunks, plan)
        usable = labels.codes >= 0 if weight is None else (labels.codes >= 0) & (weight > 0.0)
        self.evaluation_, self.held_out_ = held_out_answers(held, name, outcome.calibration, np.flatnonzero(usable))
        return outcome

    def _learned_from(
        self, model: MixtureModel, executor: Executor, chunks: Rows, plan: Plan
    ) -> tuple[Outcome, HeldOut | None, str]:
        """Fit; what was said of rows held out, and by which candidate."""
        self._tell("learning")
        if self.unlabeled_weight == AUTO and can_choose(model, chunks):
            choice = choose(model, executor, chunks, plan, self._listener)
            learned, use, held, name = choice.learned, choice.use, choice.held_out, choice.use
            cooling, verdict, factor = choice.cooling, choice.verdict, 0.0 if choice.use == NONE else 1.0
        else:
            learned, verdict, factor = learn(model, executor, chunks, plan), None, model.unlabeled_weight
            use, name, held, cooling = NONE if chunks.all_known or not factor else FULL, GIVEN, None, None
            if not learned.fit.interrupted and any_known(chunks):
                held = held_out_as_given(model, executor, chunks, plan, n_iter=learned.fit.n_iter, tell=self._listener)
                cooling = held.cooling(GIVEN) if len(held) else None
        warn_about(learned, type(self).__name__, plan.stopping)
        self.interrupted_ = learned.fit.interrupted
        return Outcome(learned, use, factor, verdict, self._calibration(cooling, held, name)), held, name

    def _calibration(self, cooling: float | None, held: HeldOut | None, name: str) -> Calibration | None:
        if self.calibrate == "none" or cooling is None:
            return None
        if self.calibrate == "isotonic" and held is not None and len(held):
            maps = fit_isotonic(held.log_posterior[name], held.length, held.codes, cooling, held.weight)
            return Calibration("isotonic", cooling, maps)
        return Calibration("temperature", cooling)

    # ---- the model
    def _families(self) -> tuple[ColumnFamily, ...]:
        plan = self.treatment_.plan
        families = plan.families(with_unseen=False) if plan.columns else ()
        event = Multinomial() if self.setting_.event_model == "multinomial" else Bernoulli()
        return (*families, *[event] * len(self.treatment_.counters))

    def _priors(self, n_classes: int, groups: NDArray[Any]) -> tuple[Any, ...]:
        return tuple(
            MomentPrior.column_by_column(float(self.var_smoothing))
            if family.name == "gaussian"
            else PseudoCounts(np.asarray(self.setting_.alpha))
            for family in self._families()
        )

    def _publish(self, learned: Learned) -> None:
        weight = learned.fit.counts.parts[CLASSES].arrays()["weight"]
        self.class_count_ = np.bincount(learned.model.groups, weight, minlength=learned.model.n_classes)
        self.class_log_prior_ = self._log_class_prior()

    # ---- predicting
    def predict_uncalibrated(self, X: Any) -> FloatArray:
        """Posterior probability of every class as naive Bayes states it, shape (n_samples, n_classes)."""
        check_is_fitted(self, "params_")
        return self._posterior(X)

    # ---- telling
    def column_report(self) -> str:
        """What every column was taken for, and why, as text."""
        check_is_fitted(self, "treatment_")
        width = max(len(role.name) for role in self.treatment_.roles)
        return "\n".join(f"{r.name:<{width}}  {r.role:<8}  {r.reason}" for r in self.treatment_.roles)

    def _feature_names(self) -> list[str]:
        return self.treatment_.feature_names()

    def _block_categories(self) -> list[list[Any] | None]:
        return self._categories_of(len(self._feature_names()))

    def _categories_of(self, n_columns: int) -> list[list[Any] | None]:
        plan = self.treatment_.plan
        plans = [plan.columns[int(j)] for j in plan.order()] if plan.columns else []
        known: list[list[Any] | None] = [None if p.categories is None else list(p.categories) for p in plans]
        return known + [None] * (n_columns - len(known))

    def top_features(self, k: int = 10, *, feature_names: Any = None) -> dict[Any, list[tuple[str, float]]]:
        """The words, values and columns that speak most for each class.

        Parameters
        ----------
        k : int
            How many per class.
        feature_names : sequence of str, optional
            Other names for the columns and words.
        """
        check_is_fitted(self, "params_")
        weight = np.exp(self.params_.log_weights)
        columns, start = names_of_columns(feature_names, self._feature_names()), 0
        categories = self._categories_of(len(columns))
        names: list[str] = []
        scores: list[FloatArray] = []
        for family, params in zip(self.model_.families, self.params_.blocks, strict=True):
            if isinstance(family, Categorical):
                scores.append(family.value_telling(params, weight))
                for j in range(start, start + len(family.n_values)):
                    names.extend(f"{columns[j]}={value}" for value in categories[j] or [""])
                start += len(family.n_values)
            else:
                scores.append(family.telling(params, weight))
                names.extend(columns[start : start + scores[-1].shape[0]])
                start += scores[-1].shape[0]
        return self._best_of(_by_class(np.concatenate(scores, axis=0), self.model_, weight), names, k)

    def sample(self, n_samples: int = 1, y: Any = None, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Refused: words drawn one by one make no text."""
        raise InputError("TableClassifier does not generate rows; use NaiveBayes for tables without texts.")


def _by_class(scores: FloatArray, model: MixtureModel, weight: FloatArray) -> FloatArray:
    """Scores per component added up to scores per class."""
    if model.has_single_components:
        return scores
    shares = np.zeros((model.n_components, model.n_classes))
    shares[np.arange(model.n_components), model.groups] = weight
    return np.asarray(scores @ (shares / np.maximum(shares.sum(axis=0), 1e-300)))
