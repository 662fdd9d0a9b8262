"""Name one start of one process as a text that fits wherever an owner is written down.

`tenure-1:MACHINE:BOOT:NAMESPACE:PID:TICKS:NONCE`, ASCII, at most 255 UTF-16 units, no NUL. The
nonce adds nothing to the proof of death; it keeps two texts apart where everything else could be
equal (a virtual machine that was restored twice from one snapshot), and keeps them unguessable.
"""

import os
import re
import secrets
from pathlib import Path
from typing import Final

from tenure.machine.host import BOOT_ID_PATTERN, MACHINE_ID_PATTERN
from tenure.machine.process import Doubt, Observation, ProcessIdentity, Unknown, identify, observe
from tenure.machine.procfs import ETC, PROC

INCARNATION_LENGTH_MAX: Final = 255
"""UTF-16 units, which for this ASCII text are characters."""

_VERSION: Final = "tenure-1"
_NONCE_BYTES: Final = 16
_NUMBER: Final = r"(0|[1-9][0-9]{0,15})"
_TEXT: Final = re.compile(
    rf"{_VERSION}:({MACHINE_ID_PATTERN}):({BOOT_ID_PATTERN}):{_NUMBER}:{_NUMBER}:{_NUMBER}"
    r":[0-9a-f]{32}"
)
_nonces: Final[dict[ProcessIdentity, str]] = {}
"""The one nonce of this process, drawn at first use. A fork copies its parent's entry and never
looks it up, since it has an identity of its own; so one entry for each fork since the first."""


def current_incarnation() -> str:
    """Name this start of this process; the same text for as long as the process lives.

    A fork has another one, also if it was forked after the first call, and so has the next start
    of the same program. May be called from any thread.

    Raises:
        OSError: a fact of the host cannot be read, or /proc is not this PID namespace's.
    """
    identity = identify(os.getpid())
    assert identity is not None  # whoever asks exists
    nonce = _nonces.setdefault(identity, secrets.token_hex(_NONCE_BYTES))
    return render_incarnation(identity, nonce=nonce)


def render_incarnation(identity: ProcessIdentity, *, nonce: str) -> str:
    """Write an identity and a nonce of 32 hexadecimal digits as a text.

    Raises:
        ValueError: the nonce has another form.
    """
    numbers = f"{identity.pid_namespace}:{identity.pid}:{identity.start_ticks}"
    text = f"{_VERSION}:{identity.machine_id}:{identity.boot_id}:{numbers}:{nonce}"
    if _TEXT.fullmatch(text) is None:
        message = f"invalid incarnation: nonce {nonce!r}, allowed are 32 hexadecimal digits"
        raise ValueError(message)
    assert len(text) <= INCARNATION_LENGTH_MAX
    return text


def parse_incarnation(text: str) -> ProcessIdentity | None:
    """Read the process out of an incarnation.

    Returns:
        None for any text that `render_incarnation` could not have written; it never raises.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    machine_id, boot_id, pid_namespace, pid, start_ticks = found.groups()
    try:
        return ProcessIdentity(
            machine_id=machine_id,
            boot_id=boot_id,
            pid_namespace=int(pid_namespace),
            pid=int(pid),
            start_ticks=int(start_ticks),
        )
    except ValueError:
        return None


def observe_incarnation(text: str, *, proc_root: Path = PROC, etc_root: Path = ETC) -> Observation:
    """Say whether the process of an incarnation lives, with the guarantees of `observe`.

    A text that is not one of ours is `Unknown`.
    """
    identity = parse_incarnation(text)
    if identity is None:
        return Unknown(Doubt.NOT_OURS)
    return observe(identity, proc_root=proc_root, etc_root=etc_root)
