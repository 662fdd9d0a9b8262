"""The ledger: the whole port and all extensions over one store."""

from types import TracebackType
from typing import Self

from tenure.ledger.core import LedgerCore
from tenure.ledger.extensions import ExtensionOperations
from tenure.ledger.intake import Limits
from tenure.ledger.operations import PortOperations
from tenure.ledger.reclamations import ReclamationOperations
from tenure.ledger.recovery import LedgerRecovery
from tenure.model.identifier import check_identifier
from tenure.ports.store import Store


class Ledger(PortOperations, ExtensionOperations, ReclamationOperations):
    """A durable ledger of executions, attempts, provider operations and what is still owed.

    Open one with ``tenure.open_ledger``. A handle belongs to one event loop and one process; any
    number of tasks may share it, and any number of processes may open the same ledger. Every
    mutation is durable when its call returns. Cancelling a call does not take its command back:
    read the record before acting on either.
    """

    def __init__(self, store: Store, *, limits: Limits | None = None, actor: str = "host") -> None:
        """Serve ``store``, which this handle then owns; mutations are journaled as ``actor``'s."""
        self._core = LedgerCore(
            store, limits=(limits or Limits()).check(), actor=check_identifier(actor, field="actor")
        )
        self._recovery = LedgerRecovery(self._core)

    @property
    def recovery(self) -> LedgerRecovery:
        """The recovery capability, whole."""
        return self._recovery

    def acting_as(self, actor: str) -> "Ledger":
        """Make a handle on the same store whose mutations are journaled under another name.

        It shares the writer with this one, and closes with it.

        Raises:
            InvalidInputError: the name is not an identifier.
        """
        handle = object.__new__(Ledger)
        handle._core = self._core.acting_as(check_identifier(actor, field="actor"))
        handle._recovery = LedgerRecovery(handle._core)
        return handle

    async def aclose(self) -> None:
        """Finish what waits and close the store. Idempotent; later calls raise."""
        await self._core.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
