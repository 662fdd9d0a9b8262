"""What may be known about the life of a process incarnation."""

from typing import Protocol, TypeAlias

import msgspec


class IncarnationAlive(msgspec.Struct, frozen=True):
    """It runs."""


class IncarnationDead(msgspec.Struct, frozen=True):
    """It is proven gone, on the machine on which it ran."""

    reason: str
    """What proves it; bounded, without secrets."""


class IncarnationUnknown(msgspec.Struct, frozen=True):
    """Nothing is proven: another machine, another namespace, no permission. Never act on it."""

    reason: str


IncarnationObservation: TypeAlias = IncarnationAlive | IncarnationDead | IncarnationUnknown


class IncarnationWitness(Protocol):
    """Says who this process is, and what became of others."""

    def current(self) -> str:
        """Name the running process: differs for each start of each process."""
        ...

    def observe(self, incarnation_id: str) -> IncarnationObservation:
        """Say whether an incarnation is alive, proven dead, or neither."""
        ...
