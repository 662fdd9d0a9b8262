"""Names of processes, short enough for people. The JSON documents have them in full."""

import getpass
import os
import socket
from typing import Final

from tenure.machine.incarnation import parse_incarnation

_LENGTH_MAX: Final = 40


def describe_actor(name: str) -> str:
    """Show who did something: of a process incarnation its number, of anything else the text."""
    process = parse_incarnation(name)
    if process is not None:
        return f"process {process.pid}"
    return name if len(name) <= _LENGTH_MAX else name[: _LENGTH_MAX - 1] + "…"


def name_requester() -> str:
    """Name who asks for something: user, machine and process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = f"user {os.getuid()}"
    return f"{user}@{socket.gethostname()} (process {os.getpid()})"[:255]
