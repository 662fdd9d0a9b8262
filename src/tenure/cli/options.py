"""Options that every command has, and how their values are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from cyclopts import Parameter, Token

from tenure.cli.duration import parse_duration


def _duration(_kind: object, tokens: Sequence[Token]) -> float:
    return parse_duration(tokens[0].value)


Duration: TypeAlias = Annotated[
    float, Parameter(converter=_duration, n_tokens=1, metavar="DURATION")
]
"""Seconds, over 0."""
Flag: TypeAlias = Annotated[bool, Parameter(negative="", show_default=False)]
"""A switch without a ``--no-…`` form."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """Options of every command that opens a ledger."""

    ledger: str | None = None
    """URL of the ledger, as ``sqlite:///PATH``; by default ``TENURE_LEDGER``, else the user's own.
    """
    json: Flag = False
    """Print one JSON document, and errors as JSON too."""
    debug: Flag = False
    """Show where an error came from. ``TENURE_DEBUG=1`` does the same."""
