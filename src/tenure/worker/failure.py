"""How a failed command is told, and what a shell would make of it. The grammar, stated once.

The first line of the error is one of

    exit status N after S s
    signal N after S s
    timeout after T s
    not started: REASON

and the lines after it, if any, are the last ones that the command printed. N is a decimal number, S
the seconds that the command ran with two decimals, T the whole time that it had been given, and
REASON one line; a program that was not found has a reason that begins with "command not found".
"""

import re
from typing import Final

TIMEOUT_CODE: Final = 124
NOT_STARTED_CODE: Final = 126
NOT_FOUND_CODE: Final = 127
SIGNAL_CODE_BASE: Final = 128

_NOT_FOUND: Final = "command not found"
_FIRST_LINE: Final = re.compile(
    r"exit status (?P<status>[1-9][0-9]{0,2}) after [0-9]+\.[0-9]{2} s"
    r"|signal (?P<signal>[1-9][0-9]?) after [0-9]+\.[0-9]{2} s"
    r"|(?P<timeout>timeout) after [0-9]+(?:\.[0-9]{1,3})? s"
    r"|not started: (?P<reason>.+)"
)


def render_exit(status: int, *, seconds: float) -> str:
    """Tell an exit status other than 0."""
    return f"exit status {status} after {seconds:.2f} s"


def render_signal(signum: int, *, seconds: float) -> str:
    """Tell the end by a signal."""
    return f"signal {signum} after {seconds:.2f} s"


def render_timeout(timeout_ms: int) -> str:
    """Tell that the deadline came first."""
    whole, rest = divmod(timeout_ms, 1000)
    fraction = f".{rest:03}".rstrip("0") if rest else ""
    return f"timeout after {whole}{fraction} s"


def render_not_started(reason: str) -> str:
    """Tell that the command never ran; the reason is made one line."""
    return f"not started: {' '.join(reason.split()) or 'unknown reason'}"


def render_not_found(program: str) -> str:
    """Tell that there is no such program."""
    return render_not_started(f"{_NOT_FOUND}: {program!r}")


def parse_failure(error: str) -> int | None:
    """Read the exit code that a shell would report out of an error.

    Returns:
        N for an exit status, 128 + N for a signal, 124 for a timeout, 127 for a program that was
        not found, 126 for any other that was not started; None for an error of another grammar.
    """
    found = _FIRST_LINE.fullmatch(error.split("\n", 1)[0])
    if found is None:
        return None
    if found["status"]:
        return int(found["status"])
    if found["signal"]:
        return SIGNAL_CODE_BASE + int(found["signal"])
    if found["timeout"]:
        return TIMEOUT_CODE
    return NOT_FOUND_CODE if found["reason"].startswith(_NOT_FOUND) else NOT_STARTED_CODE
