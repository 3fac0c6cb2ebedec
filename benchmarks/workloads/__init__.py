"""Every workload by name; each builds its data and returns its contests."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.measuring import Contest, Setting
from benchmarks.workloads import (
    bernoulli_images,
    command_line,
    gaussian_mixture,
    gaussian_naive_bayes,
    glm,
    latent_classes,
    logistic,
    numpy_kernels,
    small_problems,
    sparse_em,
    sparse_naive_bayes,
    start_up,
    text_counts,
)

Workload = Callable[[Setting], list[Contest]]

#: In the order of the table.
WORKLOADS: dict[str, Workload] = {
    **sparse_naive_bayes.WORKLOADS,
    **sparse_em.WORKLOADS,
    **latent_classes.WORKLOADS,
    **gaussian_mixture.WORKLOADS,
    **gaussian_naive_bayes.WORKLOADS,
    **logistic.WORKLOADS,
    **glm.WORKLOADS,
    **bernoulli_images.WORKLOADS,
    **text_counts.WORKLOADS,
    **command_line.WORKLOADS,
    **small_problems.WORKLOADS,
    **numpy_kernels.WORKLOADS,
    **start_up.WORKLOADS,
}


def chosen(patterns: list[str]) -> list[str]:
    """Names of the workloads that begin with one of the patterns; all of them if there is none.

    Raises
    ------
    SystemExit
        A pattern fits no workload.
    """
    for pattern in patterns:
        if not any(name.startswith(pattern) for name in WORKLOADS):
            raise SystemExit(f"No workload begins with {pattern!r}. There are: {', '.join(WORKLOADS)}.")
    return [name for name in WORKLOADS if not patterns or any(name.startswith(pattern) for pattern in patterns)]
