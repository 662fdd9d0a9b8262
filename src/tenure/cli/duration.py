"""Durations and instants as people write and read them."""

import re
from datetime import datetime, timedelta
from typing import Final

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_GRAMMAR: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})(ms|s|m|h|d)?")
_ALLOWED: Final = "a number over 0, of seconds or with a unit: 90, 1.5, 500ms, 90s, 5m, 2h, 1d"
_TENTHS_BELOW: Final = 10


def parse_duration(text: str) -> float:
    """Read a duration in seconds, over 0.

    Raises:
        ValueError: anything else; the message says what is allowed.
    """
    found = _GRAMMAR.fullmatch(text)
    seconds = 0.0 if found is None else float(found[1]) * _UNITS[found[2] or "s"]
    if seconds <= 0:
        message = f"{text[:40]!r} is no duration, allowed is {_ALLOWED}"
        raise ValueError(message)
    return seconds


def render_span(span: timedelta, *, tenths: bool = True) -> str:
    """Show how long something takes, in its two largest units, or in tenths when it is short."""
    seconds = abs(span.total_seconds())
    if tenths and seconds < _TENTHS_BELOW:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 60:  # noqa: PLR2004 - as on any clock
        return f"{whole} s"
    minutes, seconds_left = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds_left} s"


def render_relative(at: datetime, *, now: datetime) -> str:
    """Show an instant by its distance from now."""
    return f"in {render_span(at - now)}" if at > now else f"{render_span(now - at)} ago"


def render_instant(at: datetime) -> str:
    """Show an instant of the ledger's clock to the second, in UTC."""
    return at.strftime("%Y-%m-%d %H:%M:%SZ")


def render_clock(at: datetime) -> str:
    """Show the time of day of an instant to the millisecond, in UTC."""
    return at.strftime("%H:%M:%S.") + f"{at.microsecond // 1000:03d}"
