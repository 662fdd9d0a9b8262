"""Opening the ledger that the options name, and nothing else: what only reads needs no more."""

import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tenure.cli.options import Common
from tenure.cli.writing import say
from tenure.errors import LedgerOpenError
from tenure.ledger.ledger import Ledger
from tenure.wiring.ledgers import (
    LEDGER_FILE,
    absolute_ledger_url,
    default_ledger_url,
    open_ledger,
    state_folder,
)

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
        ledger = await _open(url, create=create, upgrade=upgrade, json=common.json)
    except LedgerOpenError as exc:
        raise _advised(exc) from exc
    async with ledger:
        yield ledger


async def _open(url: str, *, create: bool, upgrade: bool, json: bool) -> Ledger:
    """Open a ledger; that one was made elsewhere than usual is said: its URL may be mistyped."""
    try:
        return await open_ledger(url, upgrade=upgrade, create=False, actor=ACTOR)
    except LedgerOpenError as exc:
        if exc.reason != "missing" or not create:
            raise
    ledger = await open_ledger(url, upgrade=upgrade, actor=ACTOR)
    if url != usual_ledger_url() and not json:
        say(f"made a new ledger {ledger.url}")
    return ledger


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


def usual_ledger_url() -> str:
    """Name the ledger of who names none."""
    return f"sqlite:///{state_folder() / LEDGER_FILE}"


def hint(command: str, execution_id: str | None, *, url: str) -> str:
    """Make a command line that can be pasted, naming the ledger where it is not the default."""
    words = ["tenure", *command.split()]
    words += [] if execution_id is None else [execution_id]
    if url != absolute_ledger_url(default_ledger_url()):
        words += ["--ledger", url]
    return " ".join(map(quote, words))


def quote(word: str) -> str:
    """Quote a word for a shell, so that what is shown is what can be pasted.

    What a terminal would not show as it is, is escaped: ``$'…'`` of bash, ksh and zsh.
    """
    if word.isprintable():
        return shlex.quote(word)
    escaped = (char if char.isprintable() and char not in "'\\" else _escape(char) for char in word)
    return f"$'{''.join(escaped)}'"


def _escape(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    return short or "".join(f"\\{byte:03o}" for byte in char.encode(errors="surrogateescape"))


def _advised(exc: LedgerOpenError) -> LedgerOpenError:
    advice = {
        "missing": "check the URL, or make a ledger there: `tenure ledger init`, or the first"
        " `tenure run`",
        "older": "bring it up to date: `tenure ledger upgrade`",
        "unsupported-url": "use sqlite:///PATH",
    }.get(exc.reason)
    if advice is None:
        return exc
    return LedgerOpenError(ledger=exc.ledger, reason=exc.reason, seen=exc.seen, advice=advice)
