"""``python -m softcount.cli``."""

from softcount.cli import main

main()
