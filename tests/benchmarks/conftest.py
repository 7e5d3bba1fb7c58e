import sys

from support.paths import PROJECT

BENCHMARKS = PROJECT / "benchmarks"
sys.path += [str(BENCHMARKS), str(BENCHMARKS / "peers")]  # as the tools find each other
