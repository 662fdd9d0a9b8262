"""Opening the ledger that the options name, and nothing else: what only reads needs no more."""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tenure.cli.options import Common
from tenure.errors import LedgerOpenError
from tenure.ledger.ledger import Ledger
from tenure.wiring.ledgers import absolute_ledger_url, default_ledger_url, open_ledger

ACTOR: Final = "cli"


@asynccontextmanager
async def open_existing(
    common: Common, *, create: bool = False, upgrade: bool = False
) -> AsyncIterator[Ledger]:
    """Open the ledger that the options name; by default only one that exists.

    Raises:
        LedgerOpenError: it cannot be opened, or is missing and not to be made.
    """
    url = ledger_url(common)
    try:
        ledger = await open_ledger(url, create=create, upgrade=upgrade, actor=ACTOR)
    except LedgerOpenError as exc:
        raise _advised(exc) from exc
    async with ledger:
        yield ledger


def ledger_url(common: Common) -> str:
    """Name the ledger that the options mean, so that it means the same anywhere.

    Raises:
        LedgerOpenError: it would live in this process only.
    """
    url = absolute_ledger_url(common.ledger or default_ledger_url())
    if url.startswith("memory:"):
        raise LedgerOpenError(
            ledger=url,
            reason="unsupported-url",
            seen="it would live in this process only, where no worker can reach it",
            advice="use sqlite:///PATH",
        )
    return url


def hint(command: str, execution_id: str | None, *, url: str) -> str:
    """Make a command line that can be pasted, naming the ledger where it is not the default."""
    words = ["tenure", *command.split()]
    words += [] if execution_id is None else [execution_id]
    if url != absolute_ledger_url(default_ledger_url()):
        words += ["--ledger", url]
    return shlex.join(words)


def _advised(exc: LedgerOpenError) -> LedgerOpenError:
    advice = {
        "missing": "check the URL, or make a ledger there: `tenure ledger init`, or the first"
        " `tenure run`",
        "older": "bring it up to date: `tenure ledger upgrade`",
    }.get(exc.reason)
    if advice is None:
        return exc
    return LedgerOpenError(ledger=exc.ledger, reason=exc.reason, seen=exc.seen, advice=advice)
