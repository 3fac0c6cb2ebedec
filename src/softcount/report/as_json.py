"""A report as JSON: the structure itself, its schema named first."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from softcount.report.data import Report

__all__ = ["content_of", "render_json"]


def content_of(report: Report) -> dict[str, Any]:
    """A report as dictionaries, lists, texts and finite numbers; ``schema`` comes first."""
    content = asdict(report)
    return {"schema": content.pop("schema"), **_plain(content)}


def render_json(report: Report) -> str:
    """A report as one JSON document."""
    return json.dumps(content_of(report), ensure_ascii=True, indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    """Tuples as lists, and what is not finite as null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
