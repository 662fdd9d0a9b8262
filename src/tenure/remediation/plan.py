"""The plan: what to do about an observation. A table, pure and total.

Rows read: under this obligation, having observed this, do that. Two cells depend on more than
the observation: a running allocation is kept unless something says that it has to stop, and after
an outcome it is given a moment to end by itself.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

Owed: TypeAlias = Literal[
    "provisioning-resolution", "allocation-control", "terminal-convergence", "reclamation"
]
Observed: TypeAlias = Literal[
    "found",
    "several",
    "absent",
    "lost",
    "alive",
    "worker-dead",
    "gone",
    "undetermined",
    "nothing",
]
"""``lost``: bound to a provisioner that is proven dead, and nothing of it is left.
``nothing``: there was nothing to look at."""
Stop: TypeAlias = Literal["superseded", "cancelled", "past-deadline", "cannot-bootstrap"]
"""Why a running allocation has to end. ``cannot-bootstrap``: its worker has to claim its identity
and never may, because a search found the allocation."""
Action: TypeAlias = Literal[
    "record-discovered",
    "record-absent",
    "record-lost",
    "record-terminated",
    "record-failure",
    "record-uncertainty",
    "record-reference",
    "close-released",
    "close-absent",
    "close-lost",
    "terminate",
    "keep",
    "keep-unless-stopped",
    "keep-for-a-moment",
]

PLAN: Final[Mapping[tuple[Owed, Observed], Action]] = {
    ("provisioning-resolution", "found"): "record-discovered",
    ("provisioning-resolution", "absent"): "record-absent",
    ("provisioning-resolution", "lost"): "record-lost",
    ("provisioning-resolution", "several"): "record-uncertainty",
    ("provisioning-resolution", "undetermined"): "record-uncertainty",
    ("allocation-control", "alive"): "keep-unless-stopped",
    ("allocation-control", "worker-dead"): "terminate",
    ("allocation-control", "gone"): "record-terminated",
    ("allocation-control", "undetermined"): "record-uncertainty",
    ("terminal-convergence", "nothing"): "record-failure",
    ("reclamation", "found"): "record-reference",
    ("reclamation", "absent"): "close-absent",
    ("reclamation", "lost"): "close-lost",
    ("reclamation", "several"): "record-uncertainty",
    ("reclamation", "alive"): "keep-for-a-moment",
    ("reclamation", "worker-dead"): "keep-for-a-moment",
    ("reclamation", "gone"): "close-released",
    ("reclamation", "undetermined"): "record-uncertainty",
}
"""What is not in the table cannot be observed under that obligation."""


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """What else a plan depends on."""

    stop: Stop | None
    """Why the allocation has to end, if it has to."""
    grace_is_over: bool
    """Whether an allocation whose outcome is committed has had its moment to end by itself."""


def plan(owed: Owed, observed: Observed, circumstances: Circumstances) -> Action:
    """Say what to do next about one piece of open work.

    Raises:
        KeyError: the observation cannot be made under that obligation; a bug of the caller.
    """
    action = PLAN[owed, observed]
    if action == "keep-unless-stopped":
        return "keep" if circumstances.stop is None else "terminate"
    if action == "keep-for-a-moment":
        return "terminate" if circumstances.grace_is_over else "keep"
    return action
