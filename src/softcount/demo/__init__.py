"""Short messages, written for softcount, on which every part of it can be tried without a download."""

import csv
import io
from importlib import resources


def load_messages() -> tuple[list[str], list[str]]:
    """Return the demo's short messages and the class of each.

    The messages are invented: everyday texts ("ham") and unwanted ones ("spam"), in mixed order. Every
    web address in them ends in ``.example`` and belongs to nobody.

    Returns
    -------
    texts : list of str
        The messages.
    labels : list of str
        ``"ham"`` or ``"spam"`` for each message.

    Examples
    --------
    >>> from softcount.demo import load_messages
    >>> texts, labels = load_messages()
    >>> len(texts) == len(labels)
    True
    >>> sorted(set(labels))
    ['ham', 'spam']
    """
    table = (resources.files(__name__) / "messages.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(table)))
    return [row["text"] for row in rows], [row["label"] for row in rows]
