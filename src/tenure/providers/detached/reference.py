"""What the provider remembers of one allocation: a process and a lock, never a bare number."""

from typing import Final

import msgspec

from tenure.machine import FileInode, ProcessIdentity
from tenure.model.allocation import ProviderAllocationRef

PROVIDER_ID: Final = "detached"

_MEMBERS: Final = frozenset({"agent", "lock"})
_LOCK_MEMBERS: Final = frozenset({"device", "inode"})


class Allocation(msgspec.Struct, frozen=True, kw_only=True):
    """The agent of one attempt and the lock that it holds."""

    agent: ProcessIdentity | None
    """Null when only what an agent left behind was found."""
    lock: FileInode | None
    """Null when the folder was lost."""

    @property
    def since_ticks(self) -> int:
        """The start of the agent, before which nothing of the attempt was; 0 when not known."""
        return 0 if self.agent is None else self.agent.start_ticks


def render_reference(allocation: Allocation) -> ProviderAllocationRef:
    """Make the reference; equal allocations make equal ones."""
    agent, lock = allocation.agent, allocation.lock
    data = {
        "agent": None if agent is None else agent.to_json(),
        "lock": None if lock is None else {"device": lock.device, "inode": lock.inode},
    }
    return ProviderAllocationRef(provider_id=PROVIDER_ID, provider_data=data)


def parse_reference(reference: ProviderAllocationRef) -> Allocation:
    """Read what `render_reference` wrote.

    Raises:
        ValueError: anything else.
    """
    data = reference.provider_data
    if reference.provider_id != PROVIDER_ID or data.keys() != _MEMBERS:
        message = f"no reference of provider {PROVIDER_ID!r}"
        raise ValueError(message)
    agent = data["agent"]
    return Allocation(
        agent=None if agent is None else ProcessIdentity.from_json(agent),
        lock=_parse_lock(data["lock"]),
    )


def _parse_lock(value: object) -> FileInode | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.keys() != _LOCK_MEMBERS:
        message = "the lock of a reference is malformed"
        raise ValueError(message)
    device, inode = value["device"], value["inode"]
    if type(device) is not int or type(inode) is not int:
        message = "the lock of a reference is malformed"
        raise ValueError(message)
    return FileInode(device=device, inode=inode)
