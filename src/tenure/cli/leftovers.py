"""What a command left behind: seen before it is ended, so that its end can be told."""

import contextlib
from datetime import timedelta
from typing import Final

import anyio

from tenure.cli.host import Host
from tenure.cli.timeline import read_whole_journal
from tenure.errors import TenureError
from tenure.model.open_work import OpenWork
from tenure.ports.provider import Running

LOOK_SECONDS: Final = 0.3
_REFERENCES_MAX: Final = 4


class Leftovers:
    """Looks at what is left of an execution's attempts after their outcome. Changes nothing."""

    def __init__(self, host: Host, execution_id: str) -> None:
        """Look at what is left of ``execution_id``."""
        self._host = host
        self._execution_id = execution_id
        self._seen: set[str] = set()

    async def watch(self) -> None:
        """Look again and again, until cancelled or until nothing is open."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            if not await self.look():
                return

    async def look(self) -> bool:
        """Note the attempts whose worker is gone while something of it runs; False: none is open.

        What cannot be seen is not noted; nobody is told of that here.
        """
        with contextlib.suppress(TenureError, OSError):
            works = await self._host.ledger.list_open(execution_id=self._execution_id)
            for work in works:
                if isinstance(work, OpenWork) and work.kind == "reclamation":
                    await self._look_at(work)
            return bool(works)
        return True

    async def were_ended(self) -> bool:
        """Whether something that was seen was ended: it outlasted the moment of grace."""
        grace = timedelta(
            seconds=self._host.authority.controller.settings.reclamation_grace_seconds
        )
        for attempt_id in self._seen:
            entries = await read_whole_journal(self._host.ledger, execution_attempt_id=attempt_id)
            at = {entry.event: entry.at for entry in entries}
            opened, closed = at.get("reclamation-opened"), at.get("reclamation-closed")
            if opened is not None and closed is not None and closed - opened >= grace:
                return True
        return False

    async def _look_at(self, work: OpenWork) -> None:
        if work.provider_id not in self._host.providers:
            return
        recovery = self._host.providers[work.provider_id].recovery
        if recovery is None:
            return
        for reference in work.references[:_REFERENCES_MAX]:
            seen = await recovery.inspect(mark=work.mark, allocation_ref=reference)
            if isinstance(seen, Running) and seen.worker == "dead":
                self._seen.add(work.execution_attempt_id)
