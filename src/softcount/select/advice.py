"""From the numbers of several candidates to a recommendation in words, with what speaks for and against it."""

from __future__ import annotations

from collections.abc import Sequence

from softcount.select.candidate import CRITERIA, Candidate

__all__ = ["advise", "single_starts"]

#: Differences of BIC below these are weak, positive and strong evidence (Raftery, 1995).
WEAK, POSITIVE = 2.0, 6.0
#: A bootstrap p-value counts the table itself, so a test at this level rejects up to and including it.
LEVEL = 0.05
#: Below this relative entropy rows are not told apart well enough to be assigned.
UNCLEAR = 0.6
SMALL_SHARE, SMALL_ROWS = 0.05, 25.0


def advise(candidates: Sequence[Candidate], criterion: str) -> tuple[int, str]:
    """The recommended number of components, and why.

    The lowest criterion among the sound candidates decides; the other criteria, the bootstrap tests and the quality of
    the fit are set beside it.
    """
    flaws = {c.n_components: _flaws(c) for c in candidates}
    sound = [c for c in candidates if not flaws[c.n_components]] or list(candidates)
    ranked = sorted(sound, key=lambda c: (getattr(c, criterion), c.n_components))
    best = ranked[0]
    words = [_reason(ranked, criterion), _agreement(sound, best, criterion), *_bootstrap(candidates, best)]
    words += _cautions(candidates, best)
    for candidate in candidates:
        lower = getattr(candidate, criterion) < getattr(best, criterion)
        if flaws[candidate.n_components] and lower:
            words.append(
                f"{candidate.n_components} components have a lower {criterion.upper()} but are passed over: "
                f"{'; '.join(flaws[candidate.n_components])}."
            )
    return best.n_components, " ".join(word for word in words if word)


def single_starts(candidates: Sequence[Candidate]) -> str:
    """A caution about sizes that were fitted from one start, whose maximum need not be the highest."""
    single = [str(c.n_components) for c in candidates if c.n_components > 1 and c.n_starts == 1]
    if not single:
        return ""
    return (
        f" Caution: with {_listed(single)} components there was one start, which may have ended below the maximum; "
        "raise n_init, or use GaussianMixture(thorough=True)."
    )


def _flaws(candidate: Candidate) -> list[str]:
    """Why a candidate cannot be recommended, whatever its criterion."""
    found = []
    if candidate.df is not None and candidate.df < 0:
        found.append("the table has fewer free cells than the model has parameters, so it is not identified")
    if any("is empty" in note for note in candidate.notes):
        found.append("a component is empty")
    if any("has shrunk onto" in note for note in candidate.notes):
        found.append("a component has shrunk onto a few rows")
    return found


def _count(n_components: int) -> str:
    return f"{n_components} component{'s' if n_components != 1 else ''}"


def _reason(ranked: Sequence[Candidate], criterion: str) -> str:
    best = ranked[0]
    text = (
        f"Recommended: {_count(best.n_components)}. {criterion.upper()} is lowest there ({getattr(best, criterion):.2f}"
    )
    if len(ranked) == 1:
        return text + ")."
    second = ranked[1]
    gap = getattr(second, criterion) - getattr(best, criterion)
    strength = "hardly" if gap < WEAK else "a little" if gap < POSITIVE else "clearly"
    return f"{text}, {strength} lower than with {second.n_components}: by {gap:.2f})."


def _agreement(sound: Sequence[Candidate], best: Candidate, criterion: str) -> str:
    others = [name for name in CRITERIA if name != criterion]
    choice = {name: min(sound, key=lambda c: (getattr(c, name), c.n_components)).n_components for name in others}
    agree = [name.upper() for name in others if choice[name] == best.n_components]
    differ = [f"{name.upper()} prefers {choice[name]}" for name in others if choice[name] != best.n_components]
    parts = [f"{_listed(agree)} agree{'s' if len(agree) == 1 else ''}"] if agree else []
    text = "; ".join(parts + differ)
    return text[:1].upper() + text[1:] + "." if text else ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _bootstrap(candidates: Sequence[Candidate], best: Candidate) -> list[str]:
    tested = [c for c in candidates if c.p_value is not None]
    if not tested:
        return []
    words = []
    for c in tested:
        if c.n_components == best.n_components:
            verdict = "are better than" if (c.p_value or 0.0) <= LEVEL else "are not clearly better than"
            words.append(f"By the bootstrap test they {verdict} one component fewer (p = {c.p_value:.3f}).")
        elif c.n_components == best.n_components + 1:
            verdict = "would be better still" if (c.p_value or 0.0) <= LEVEL else "would not be better"
            words.append(f"By the same test {c.n_components} {verdict} (p = {c.p_value:.3f}).")
    return words


def _cautions(candidates: Sequence[Candidate], best: Candidate) -> list[str]:
    words = []
    if best.n_components == max(c.n_components for c in candidates) and len(candidates) > 1:
        words.append("That is the largest number tried, so try more.")
    if not best.converged:
        words.append("Caution: that fit did not converge; raise max_iter.")
    if best.n_components > 1 and best.n_finished > 1 and best.n_best == 1:
        words.append(
            f"Caution: only 1 of the {best.n_finished} starts run to the end reached its log-likelihood, so there may "
            "be a higher one; raise n_init."
        )
    if best.n_components > 1 and best.relative_entropy < UNCLEAR:
        words.append(
            f"Caution: the components overlap (relative entropy {best.relative_entropy:.2f}), so single rows cannot be "
            "assigned with confidence."
        )
    elif best.n_components > 1:
        words.append(f"The components are told apart with relative entropy {best.relative_entropy:.2f}.")
    small = best.smallest_share < SMALL_SHARE or best.smallest_rows < SMALL_ROWS
    if best.n_components > 1 and small:
        words.append(
            f"Caution: the smallest component holds {100.0 * best.smallest_share:.1f} % of the rows "
            f"({best.smallest_rows:.0f}); look whether it means something."
        )
    return words
