"""How many compiled products torch keeps."""

import os

KERNELS = 64
"""A training step and a search need fewer."""


def bound_kernel_caches() -> None:
    """Lets torch keep few of the products that oneDNN compiles, one a shape; by itself it keeps a thousand of a kind.

    A compiled bfloat16 product takes about half a megabyte, and a text has thousands of shapes: the memory of a
    training, and of a search in bfloat16, grew by gigabytes. There are two caches, oneDNN's own and torch's, and both
    must be small. Their sizes are read at the first product, so this comes before it. A size that the user has set
    stays.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, str(KERNELS))
