"""The agent's own log: what it says on standard error, which the provider keeps."""

import os
import time


def log(text: str) -> None:
    """Write one line, with the boot-time clock in seconds; never raises."""
    line = f"[{time.clock_gettime(time.CLOCK_BOOTTIME):.3f}] {' '.join(text.split())}\n"
    try:
        os.write(2, line.encode(errors="backslashreplace"))
    except OSError:
        return
