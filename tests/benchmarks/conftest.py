import sys

from support.paths import BENCHMARKS

sys.path += [str(BENCHMARKS), str(BENCHMARKS / "peers")]  # as the tools find each other
