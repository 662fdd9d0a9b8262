"""Opening ledgers by URL."""

import os
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Final

from tenure.errors import LedgerOpenError
from tenure.ledger.intake import Limits
from tenure.ledger.ledger import Ledger
from tenure.ports.clock import StoreClock
from tenure.ports.store import Store

_SQLITE: Final = "sqlite:///"
_MEMORY: Final = "memory:"
LEDGER_FILE: Final = "ledger.sqlite"


class LedgerOpening:
    """A ledger that is about to be opened: ``await`` it, or use it with ``async with``."""

    def __init__(self, url: str, options: "OpenOptions") -> None:
        """Remember what to open; nothing happens yet."""
        self._url = url
        self._options = options
        self._ledger: Ledger | None = None

    def __await__(self) -> Generator[object, None, Ledger]:
        """Open the ledger; closing it is the caller's."""
        return self._open().__await__()

    async def __aenter__(self) -> Ledger:
        self._ledger = await self._open()
        return self._ledger

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._ledger is not None
        await self._ledger.aclose()

    async def _open(self) -> Ledger:
        store = await _open_store(self._url, self._options)
        return Ledger(store, limits=self._options.limits, actor=self._options.actor)


class OpenOptions:
    """How to open a ledger; see ``open_ledger``."""

    def __init__(
        self,
        *,
        create: bool,
        upgrade: bool,
        clock: StoreClock | None,
        limits: Limits | None,
        actor: str,
    ) -> None:
        """Hold the options together."""
        self.create = create
        self.upgrade = upgrade
        self.clock = clock
        self.limits = limits
        self.actor = actor


def open_ledger(
    url: str,
    *,
    create: bool = True,
    upgrade: bool = False,
    clock: StoreClock | None = None,
    limits: Limits | None = None,
    actor: str = "host",
) -> LedgerOpening:
    """Open the ledger at ``url``, to be awaited or used with ``async with``.

    Args:
        url: ``sqlite:///PATH`` (relative to the working directory, or absolute with a fourth
            slash; taken literally, nothing is decoded) or ``memory:`` (a new one each time).
        create: make the ledger when it does not exist; its folder too.
        upgrade: bring an older schema up to date; otherwise an older one is refused.
        clock: replaces the store's own clock, for tests and simulations.
        limits: largest payloads; all controllers of a ledger should agree on them.
        actor: under which name this handle's mutations are journaled.

    Raises:
        LedgerOpenError: it cannot be opened; nothing was changed.
        InvalidInputError: ``actor`` is not an identifier.
    """
    options = OpenOptions(create=create, upgrade=upgrade, clock=clock, limits=limits, actor=actor)
    return LedgerOpening(url, options)


def default_ledger_url() -> str:
    """Name the user's own ledger: ``TENURE_LEDGER``, or a file in the user's state folder."""
    configured = os.environ.get("TENURE_LEDGER")
    return configured or f"{_SQLITE}{state_folder() / LEDGER_FILE}"


def state_folder() -> Path:
    """Name the folder of everything that Tenure keeps for this user.

    ``TENURE_STATE_DIR``, else ``$XDG_STATE_HOME/tenure``, else ``~/.local/state/tenure``.
    """
    configured = os.environ.get("TENURE_STATE_DIR")
    if configured:
        return Path(configured).absolute()
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state").absolute() / "tenure"


def absolute_ledger_url(url: str) -> str:
    """Make a URL that means the same ledger in any working directory."""
    if url.startswith(_SQLITE):
        return f"{_SQLITE}{Path(url.removeprefix(_SQLITE)).absolute()}"
    return url


async def _open_store(url: object, options: OpenOptions) -> Store:
    if url == _MEMORY:
        from tenure.stores.memory import MemoryStore  # noqa: PLC0415 - only the store that is used

        return MemoryStore(clock=options.clock)
    if isinstance(url, str) and url.startswith(_SQLITE) and url != _SQLITE:
        from tenure.stores.sqlite import open_sqlite_store  # noqa: PLC0415

        return await open_sqlite_store(
            url.removeprefix(_SQLITE),
            name=url,
            create=options.create,
            upgrade=options.upgrade,
            clock=options.clock,
        )
    raise LedgerOpenError(
        ledger=_without_secrets(url),
        reason="unsupported-url",
        seen="this URL names no known kind of ledger",
        advice="use sqlite:///PATH or memory:",
    )


def _without_secrets(url: object) -> str:
    """Show at most the scheme: what follows may hold a password."""
    if not isinstance(url, str):
        return f"a value of type {type(url).__name__}"
    scheme, found, _ = url.partition(":")
    return repr(f"{scheme[:20]}:…") if found else repr(url[:40])
