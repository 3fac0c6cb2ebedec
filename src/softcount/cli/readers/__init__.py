"""Tables from files: CSV, JSONL, Parquet, folders of texts, mbox and Maildir, in pieces of bounded size."""

from softcount.cli.readers.sources import FORMATS, Source, open_source, read_all

__all__ = ["FORMATS", "Source", "open_source", "read_all"]
