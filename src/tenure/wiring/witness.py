"""This host's witness of process incarnations."""

from tenure.machine.incarnation import current_incarnation, observe_incarnation
from tenure.machine.process import Alive, Dead
from tenure.ports.incarnation import (
    IncarnationAlive,
    IncarnationDead,
    IncarnationObservation,
    IncarnationUnknown,
)


class HostWitness:
    """Names this process and judges others by what this machine proves; nothing more."""

    def __init__(self) -> None:
        """Take this process's name; a fork needs a witness of its own."""
        self._current = current_incarnation()

    def current(self) -> str:
        """Name the running process."""
        return self._current

    def observe(self, incarnation_id: str) -> IncarnationObservation:
        """Say whether an incarnation is alive, proven dead, or neither."""
        seen = observe_incarnation(incarnation_id)
        if isinstance(seen, Alive):
            return IncarnationAlive()
        if isinstance(seen, Dead):
            return IncarnationDead(seen.reason.value)
        return IncarnationUnknown(seen.reason.value)
