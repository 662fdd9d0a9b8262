"""Exit codes of our own; see ``docs/cli.md``."""

from typing import Final

OK: Final = 0
STILL_OWED: Final = 1
"""``recover``: something is left that could not be settled. ``ledger check``: it found problems."""
USAGE: Final = 2
"""Bad usage of a command that does not pass on an exit code."""
NOT_ENDED: Final = 75
"""The execution has not ended: the time to wait is over, or it is paused. Come back later."""
TENURE: Final = 125
"""Tenure itself failed, or an execution ended without an outcome."""
NOT_FOUND: Final = 127
"""There is no such command."""
CANCELLED: Final = 130
SIGNAL_BASE: Final = 128
UNKNOWN_FAILURE: Final = 1
"""A worker said that it failed, in words of its own."""
