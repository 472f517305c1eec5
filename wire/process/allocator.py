"""Makes the C allocator return the memory of large requests and responses to the operating system."""

import ctypes

# glibc, malloc.h: M_MMAP_THRESHOLD. 128 KiB is its initial value.
_M_MMAP_THRESHOLD = -3
_THRESHOLD_BYTES = 128 * 1024


def return_large_blocks() -> bool:
    """Keep glibc from raising the size above which a block is mapped on its own, and unmapped when it is freed.

    By default the first free of a large block raises it, up to 32 MiB (mallopt(3)). Later blocks then come from the
    heap, and requests of 1 MB leave 80 MiB that are free but still resident. False without glibc; musl has
    no such setting and always unmaps large blocks.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    return bool(mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES) == 1)
