"""The entry: from arguments to an exit code. No error leaves as a traceback, unless asked for."""

import errno
import inspect
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NoReturn

from cyclopts import App, CycloptsError

from tenure.cli.exit_code import OK, SIGNAL_BASE, TENURE, USAGE
from tenure.cli.failure import first_error
from tenure.cli.writing import hold_standard_descriptors, say, say_json
from tenure.errors import TenureError

_PASSING_ON: Final = frozenset({"run", "wait", "supersede"})
"""Commands that exit as somebody else's command did: whatever is ours has one code there."""
_COMMANDS: Final[Mapping[str, str]] = {
    "run": "Run a command, pass its output on, and exit as it did.",
    "wait": "Wait for an execution's end, and exit as its command did.",
    "ls": "List executions, newest first.",
    "show": "Show an execution: its state, its attempts, and all that happened.",
    "owed": "List what may still be running, and what one may do about it.",
    "recover": "Find out what became of all that is owed, and settle it.",
    "cancel": "Ask that an execution end, and wait until it has ended.",
    "supersede": "Begin another attempt in place of the active one, which is ended.",
    "version": "Print the version.",
}
_LEDGER_COMMANDS: Final[Mapping[str, str]] = {
    "init": "Make a ledger, unless there is one.",
    "upgrade": "Bring a ledger's tables up to date.",
    "check": "Examine the whole ledger.",
}
"""What each command does, for the list of them: the modules are loaded when they are named."""
_OWN_OPTIONS: Final = frozenset({"--help", "-h", "--version", "--"})
_RUN_USAGE: Final = "Usage: tenure run [OPTIONS] -- COMMAND [ARGUMENTS...]"
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EPIPE, errno.EIO, errno.EDQUOT})
"""What only a full or closed standard output answers here; a store has errors of its own."""
_INTERRUPTED: Final = SIGNAL_BASE + 2


def main() -> NoReturn:
    """Run the command that the arguments name, and exit."""
    hold_standard_descriptors()
    sys.exit(run_command(sys.argv[1:]))


def run_command(tokens: Sequence[str]) -> int:
    """Run one command line, and return its exit code."""
    options = tokens[: tokens.index("--")] if "--" in tokens else tokens
    debug, json = "--debug" in options or _is_debugging(), "--json" in options
    try:
        if misplaced := _find_misplaced(tokens):
            return _refuse(options, f"options come after the command: {misplaced}")
        command, bound, _ = make_app(tokens).parse_args(
            tokens, print_error=False, exit_on_error=False
        )
        if _lacks_separator(tokens, command):
            return _refuse(options, "put -- before the command, so that its options stay its own")
        return _call(partial(command, *bound.args, **bound.kwargs))
    except CycloptsError as exc:
        return _refuse(options, " ".join(str(exc).split()))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as exc:  # noqa: BLE001 - the last one that can tell it in one line
        if debug:
            traceback.print_exc()
        _show_error(exc, json=json)
        return TENURE


def make_app(tokens: Sequence[str]) -> App:
    """Describe the command line; a command that is named is loaded, and then describes itself."""
    is_named = bool(tokens) and not tokens[0].startswith("-")
    is_ledger = len(tokens) > 1 and not tokens[1].startswith("-")
    app = App(
        name="tenure",
        help="Run work on rented infrastructure, and never lose track of it.",
        version=_version,
        result_action="return_value",
    )
    for name, help_ in _COMMANDS.items():
        usage = _RUN_USAGE if name == "run" else None
        described = {} if is_named else {"help": help_}
        app.command(f"tenure.cli.{name}:{name}", name=name, usage=usage, **described)
    ledger = App(name="ledger", help="Make, upgrade and examine a ledger.")
    for name, help_ in _LEDGER_COMMANDS.items():
        described = {} if is_ledger else {"help": help_}
        ledger.command(f"tenure.cli.ledger:{name}", name=name, **described)
    app.command(ledger)
    return app


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - it takes a while

    return f"tenure {version('tenure')}"


def _is_debugging() -> bool:
    return os.environ.get("TENURE_DEBUG", "") not in ("", "0")


def _call(command: Callable[[], object]) -> int:
    if inspect.iscoroutinefunction(command):
        import anyio  # noqa: PLC0415 - not needed for help

        code = anyio.run(command)
    else:
        code = command()
    return code if isinstance(code, int) else OK


def _lacks_separator(tokens: Sequence[str], command: Callable[..., object]) -> bool:
    return command.__name__ == "run" and "--" not in tokens and len(tokens) > 1


def _find_misplaced(tokens: Sequence[str]) -> str | None:
    """Show how it has to be written, when an option stands before the command."""
    place = next((n for n, token in enumerate(tokens) if token in {*_COMMANDS, "ledger"}), 0)
    before = tokens[:place]
    if (
        not before
        or not before[0].startswith("-")
        or {"--help", "-h", "--version", "--"} & {*before}
    ):
        return None
    if before[0] == "--ledger" and place == 1:  # its value is called as a command is
        return None
    return shlex.join(["tenure", tokens[place], *before, *tokens[place + 1 :]])


def _refuse(options: Sequence[str], message: str) -> int:
    name = options[0] if options and options[0] in _COMMANDS else ""
    text = f"{message} (see `{f'tenure {name}'.strip()} --help`)"
    if "--json" in options:
        say_json({"error": {"code": "usage", "message": text}})
    else:
        say(text)
    return TENURE if name in _PASSING_ON else USAGE


def _show_error(exc: Exception, *, json: bool) -> None:
    first = first_error(exc)
    if isinstance(first, TenureError):
        code, message = first.code, str(first)
    elif isinstance(first, OSError) and first.errno in _UNWRITABLE:
        code, message = "output", f"standard output cannot be written: {first.strerror}"
    else:
        seen = " ".join(f"{type(first).__name__}: {first}".split())
        code = "internal"
        message = f"internal error: {seen}; --debug shows where it came from"
    if json:
        say_json({"error": {"code": code, "message": message}})
    else:
        say(message)
