"""The status line: that there is life, and whose lease it is."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text
from tenure.cli.debt import describe_moment
from tenure.cli.duration import render_span
from tenure.cli.terminal import Terminal
from tenure.cli.view import Sighting, sight
from tenure.cli.writing import printable
from tenure.errors import WorldError
from tenure.ledger.ledger import Ledger
from tenure.model.open_work import OpenWork, UnreadableWork

FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS: Final = 0.12
READ_SECONDS: Final = 0.6
"""How often the ledger is asked."""


async def keep_status(terminal: Terminal, ledger: Ledger, execution_id: str) -> None:
    """Show a status line until cancelled; where there is no terminal, return at once."""
    if not terminal.has_status:
        return
    from rich.console import Console  # noqa: PLC0415 - only where there is a terminal
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True, highlight=False)
    began = anyio.current_time()
    read_at, text = began - READ_SECONDS, ""
    while True:
        now = anyio.current_time()
        if now - read_at >= READ_SECONDS:
            read_at, text = now, await _read(ledger, execution_id)
        elapsed = render_span(timedelta(seconds=now - began), tenths=False)
        frame = FRAMES[int(now / FRAME_SECONDS) % len(FRAMES)]
        line = Text.assemble((frame, "cyan"), f" {elapsed} ", (text, "dim"))
        terminal.show_status(_render(console, line))
        await anyio.sleep(FRAME_SECONDS)


async def _read(ledger: Ledger, execution_id: str) -> str:
    try:
        execution = await ledger.get_execution(execution_id=execution_id)
        if execution is None:
            return ""
        works = await ledger.list_open(execution_id=execution_id)
        now = await ledger.now()
        return describe_status(await sight(ledger, execution), works[:1], now)
    except WorldError as exc:
        return str(exc)


def describe_status(
    sighting: Sighting, works: Sequence[OpenWork | UnreadableWork], now: datetime
) -> str:
    """Describe what an execution does and until when it is held, in one line."""
    parts = [printable(sighting.execution.execution_id), sighting.state]
    for work in works:
        if isinstance(work, UnreadableWork):
            parts.append("its record is unreadable")
            continue
        if work.kind == "reclamation":
            parts.append("seeing that nothing is left")
        until = work.lease_expires_at
        if until is None:
            parts.append("held by nobody")
        elif until > now:
            parts.append(f"lease until {describe_moment(until, now)}")
        else:
            parts.append(f"lease ran out at {describe_moment(until, now)}")
    return " · ".join(parts)


def _render(console: "Console", line: "Text") -> str:
    line.truncate(max(10, console.width - 1), overflow="ellipsis")
    with console.capture() as capture:
        console.print(line, end="", soft_wrap=True)
    return capture.get()
