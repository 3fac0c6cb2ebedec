"""The lines of a table, cut into cells."""


def split_lines(text: bytes, delimiter: str, n_columns: int) -> list[list[str]] | None:
    r"""Return the cells of every column, or None where a line takes more than a look for delimiters.

    That is a line with another number of cells, and any with a quotation mark, a zero byte, a carriage return that no
    line feed follows, or bytes that are no UTF-8.

    Parameters
    ----------
    text : bytes
        Whole lines; the last one need not end in a line feed.
    delimiter : str
        One character; none of those named above, and no line feed.
    n_columns : int
        Cells of a line.

    Examples
    --------
    >>> split_lines(b"a,b\nc,d\r\n", ",", 2)
    [['a', 'c'], ['b', 'd']]
    """
    try:
        lines = text.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        return None
    if not lines[-1]:
        del lines[-1]
    rows = [line.split(delimiter) for line in lines]
    if any(sign in text for sign in (b'"', b"\0")) or any("\r" in line for line in lines):
        return None
    if any(len(row) != n_columns for row in rows):
        return None
    return [list(cells) for cells in zip(*rows, strict=True)] if rows else [[] for _ in range(n_columns)]
