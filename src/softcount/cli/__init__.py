"""The command line: parse, options, run, export.

``main`` imports nothing but click until a command runs, so that ``softcount --help`` answers at once.
"""

__all__ = ["main"]


def main() -> None:
    """Run the ``softcount`` command and leave with its exit code."""
    import gc
    import sys

    try:
        from softcount.cli.program import run
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write("The command line needs click and rich: pip install 'softcount[cli]'\n")
        sys.exit(1)
    code = run(sys.argv[1:])
    # Python looks for cycles among all objects once more before it ends; the memory goes back to the system anyway.
    gc.freeze()
    sys.exit(code)
