"""How many components: information criteria over a range, the bootstrap likelihood-ratio test, and advice in words."""

from softcount.select.bootstrap import BootstrapTest, bootstrap_test
from softcount.select.range import Candidate, Selection, how_many

__all__ = ["BootstrapTest", "Candidate", "Selection", "bootstrap_test", "how_many"]
