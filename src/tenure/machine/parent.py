"""Tie this process to its parent, and orphans to this process: `prctl(2)`. Linux only."""

import ctypes
import os
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
_LIBC.prctl.restype = ctypes.c_int


def signal_at_parents_end(signum: int) -> None:
    """Have the kernel send this process a signal when the thread that made it ends.

    Nothing is sent for a parent that has ended before: whoever calls this has to look for the
    parent afterwards. The request is dropped by a fork, for the child, and by a change of user.

    Raises:
        OSError: there is no such signal.
    """
    _prctl(_PR_SET_PDEATHSIG, signum)


def adopt_orphans() -> None:
    """Make this process the parent of all its descendants whose own parents end.

    They come to whoever is nearest above them of those who asked for it. It lasts until this
    process ends and is not inherited.

    Raises:
        OSError: the kernel cannot do that (before 3.4).
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")
