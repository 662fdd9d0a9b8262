"""The file of a command's output, and its last lines, whatever bytes it printed.

Never through a link, and never another kind of file: what is there instead is nobody's output.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Final

TAIL_LINES_MAX: Final = 20
TAIL_BYTES_MAX: Final = 4096
"""Bound of the tail as UTF-8, line ends included."""

_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CONTINUATION_MASK: Final = 0xC0
_CONTINUATION: Final = 0x80


def open_output(path: Path) -> int:
    """Open the file to append to, made private if missing, and give the descriptor.

    Raises:
        OSError: it cannot be opened, or is no regular file; `filename` is the path.
    """
    return _checked(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FLAGS, 0o600), path)


def read_tail(path: Path) -> list[str]:
    """Read the last lines: at most 20 and at most 4 KiB of UTF-8, the newest kept.

    What is not UTF-8 is replaced by U+FFFD. A line that is longer than all that loses its
    beginning. A file that is missing, cannot be read or is no regular one has no lines.
    """
    try:
        data = _read_end(path)
    except OSError:
        return []
    text = data.decode(errors="replace").replace("\r\n", "\n").removesuffix("\n")
    if not text:
        return []
    kept = _without_broken_start(text.encode()[-TAIL_BYTES_MAX:]).decode()
    return kept.split("\n")[-TAIL_LINES_MAX:]


def _read_end(path: Path) -> bytes:
    descriptor = _checked(os.open(path, os.O_RDONLY | _FLAGS), path)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES_MAX - 1))
        data = file.read(TAIL_BYTES_MAX + 1)
    return data if size <= len(data) else _without_broken_start(data)


def _checked(descriptor: int, path: Path) -> int:
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def _without_broken_start(data: bytes) -> bytes:
    start = 0
    while start < min(3, len(data)) and data[start] & _CONTINUATION_MASK == _CONTINUATION:
        start += 1
    return data[start:]
