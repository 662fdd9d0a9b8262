"""The command line: ``tenure``. The only code that knows the terminal.

Each command is a module of its own, loaded when it is called. Standard output carries what was
asked for and nothing else; what Tenure itself has to say goes to standard error.
"""

import os
import signal
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command that the arguments name, and exit."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    from tenure.cli.entry import main as enter  # noqa: PLC0415 - it takes a while

    enter()


def _interrupted(_signum: int, _frame: object) -> NoReturn:
    """End silently: nothing has been begun that a command does not hold in its own hands."""
    os._exit(130)
