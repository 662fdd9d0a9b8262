"""Writing to the standard streams: unbuffered, and never failing because nobody reads."""

import os
import select
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tenure.model.json_value import JsonValue


STDOUT: Final = 1
STDERR: Final = 2


def hold_standard_descriptors() -> None:
    """Put the null device where a standard stream was closed.

    Else the next file that is opened, the ledger for one, would get its number, and what is meant
    for the reader would be written into that file.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= STDERR:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the name says it
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> OSError | None:
    """Write everything, also where the stream does not block; what stands in the way is returned.

    ``BrokenPipeError`` means that nobody reads any more.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
        except OSError as exc:
            return exc
    return None


def put(text: str) -> None:
    """Write a text and a line end to standard output."""
    write_all(STDOUT, f"{text}\n".encode(errors="backslashreplace"))


def formed(document: Mapping[str, object]) -> "dict[str, JsonValue]":
    """Bring the values of a document into their JSON form."""
    from tenure.wire.codec import json_form  # noqa: PLC0415 - only where JSON is wanted

    return {name: json_form(value) for name, value in document.items()}


def put_json(document: Mapping[str, object]) -> None:
    """Write the one document of a command to standard output."""
    put(_dump(document))


def say(text: str) -> None:
    """Write a line of Tenure's own to standard error."""
    write_all(STDERR, said(text))


def say_json(document: Mapping[str, object]) -> None:
    """Write a document to standard error."""
    write_all(STDERR, f"{_dump(document)}\n".encode())


def said(text: str) -> bytes:
    """Make the line that ``say`` writes."""
    return f"tenure: {printable(text)}\n".encode(errors="backslashreplace")


def printable(text: str) -> str:
    """Escape what could move the cursor, change colours, or break a line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _dump(document: Mapping[str, object]) -> str:
    from tenure.wire.json_text import dump_json  # noqa: PLC0415 - as above

    return dump_json(formed(document))
