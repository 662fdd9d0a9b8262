"""What a provider remembers of one allocation: processes and a lock, never a bare number."""

from typing import Final

import msgspec

from tenure.machine import FileInode, ProcessIdentity
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.json_value import JsonObject, JsonValue
from tenure.wire.tether import Isolation, parse_isolation

_LOCK_MEMBERS: Final = frozenset({"device", "inode"})


class Keeper(msgspec.Struct, frozen=True, kw_only=True):
    """Who stands between the provisioner and the agent, and ends all with the one or the other."""

    process: ProcessIdentity
    isolation: Isolation | None
    """Null when it was lost with the folder."""


class Allocation(msgspec.Struct, frozen=True, kw_only=True):
    """The agent of one attempt, the lock that it holds, and who keeps it, if anybody does."""

    agent: ProcessIdentity | None
    """Null when only what an agent left behind was found."""
    lock: FileInode | None
    """Null when the folder was lost."""
    keeper: Keeper | None = None
    """Null where nobody stands between provisioner and agent, or who did was lost."""

    @property
    def since_ticks(self) -> int:
        """The start of the first process, before which nothing of the attempt was; 0: unknown."""
        if self.keeper is not None:
            return self.keeper.process.start_ticks
        return 0 if self.agent is None else self.agent.start_ticks


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """How one provider writes its references."""

    provider_id: str
    is_kept: bool
    """Whether a keeper stands between the provisioner and the agent."""

    def render(self, allocation: Allocation) -> ProviderAllocationRef:
        """Make the reference; equal allocations make equal ones."""
        agent, lock, keeper = allocation.agent, allocation.lock, allocation.keeper
        data: dict[str, JsonValue] = {
            "agent": _rendered(agent),
            "lock": None if lock is None else {"device": lock.device, "inode": lock.inode},
        }
        if self.is_kept:
            data["keeper"] = None if keeper is None else _rendered(keeper.process)
            data["isolation"] = None if keeper is None else keeper.isolation
        return ProviderAllocationRef(provider_id=self.provider_id, provider_data=data)

    def parse(self, reference: ProviderAllocationRef) -> Allocation:
        """Read what `render` wrote.

        Raises:
            ValueError: anything else.
        """
        data = reference.provider_data
        members = {"agent", "lock", "keeper", "isolation"} if self.is_kept else {"agent", "lock"}
        if reference.provider_id != self.provider_id or data.keys() != members:
            message = f"no reference of provider {self.provider_id!r}"
            raise ValueError(message)
        agent = data["agent"]
        return Allocation(
            agent=None if agent is None else ProcessIdentity.from_json(agent),
            lock=_parse_lock(data["lock"]),
            keeper=_parse_keeper(data) if self.is_kept else None,
        )


def _rendered(process: ProcessIdentity | None) -> JsonValue:
    return None if process is None else dict(process.to_json())


def _parse_keeper(data: JsonObject) -> Keeper | None:
    process, isolation = data["keeper"], data["isolation"]
    if process is None:
        return None
    return Keeper(
        process=ProcessIdentity.from_json(process),
        isolation=None if isolation is None else parse_isolation(isolation),
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
