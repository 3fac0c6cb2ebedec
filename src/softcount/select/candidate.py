"""One number of components: what its fit says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CRITERIA", "Candidate", "candidate_of"]

CRITERIA = ("aic", "bic", "sabic", "caic", "icl")


@dataclass(frozen=True)
class Candidate:
    """A mixture's fit in numbers.

    Attributes
    ----------
    n_components, n_parameters : int
    log_likelihood : float
    aic, bic, sabic, caic, icl : float
        Information criteria, lower is better.
    entropy, relative_entropy : float
        Of the posterior memberships; the relative one is 1 where every row is certain.
    smallest_share, smallest_rows : float
        Size of the smallest component, as a share and in rows.
    n_best, n_finished, n_starts : int
        Starts that reached the best objective, that were run to the end, and all.
    converged : bool
    df : int or None
        Degrees of freedom left in the table, for latent class analysis; below zero the model is not identified.
    p_value : float or None
        Of the bootstrap test of one component fewer against this number.
    notes : tuple of str
        Notes of the fit.
    """

    n_components: int
    log_likelihood: float
    n_parameters: int
    aic: float
    bic: float
    sabic: float
    caic: float
    icl: float
    entropy: float
    relative_entropy: float
    smallest_share: float
    smallest_rows: float
    n_best: int
    n_finished: int
    n_starts: int
    converged: bool
    df: int | None
    p_value: float | None
    notes: tuple[str, ...] = ()

    @property
    def share_at_best(self) -> float:
        """Share of the starts run to the end that reached the best objective."""
        return self.n_best / self.n_finished if self.n_finished else 1.0


def candidate_of(model: Any, p_value: float | None) -> Candidate:
    """The numbers of a fitted mixture."""
    classified, goodness = model.classification_, getattr(model, "goodness_", None)
    smallest = float(model.weights_.min())
    return Candidate(
        n_components=int(model.weights_.shape[0]),
        log_likelihood=model.log_likelihood_,
        n_parameters=model.n_parameters_,
        **model.criteria(),
        entropy=classified.entropy,
        relative_entropy=classified.relative_entropy,
        smallest_share=smallest,
        smallest_rows=smallest * classified.n_rows,
        n_best=model.n_best_starts_,
        n_finished=model.n_finished_starts_,
        n_starts=model.n_starts_,
        converged=model.converged_,
        df=None if goodness is None else goodness.df,
        p_value=p_value,
        notes=tuple(model.notes_),
    )
