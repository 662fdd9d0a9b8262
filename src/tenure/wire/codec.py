"""JSON values of the model's types, both ways, in the contract's names and literals.

Writing checks nothing (``dump_json`` does) and shares opaque parts such as ``providerData`` with
the value. Reading is strict: a member that is missing, unknown or of a wrong type is refused by its
path. Recursion follows types, never input.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import UnionType
from typing import Any, TypeVar, overload

import msgspec

from tenure.model.instant import format_instant
from tenure.model.json_value import JsonValue
from tenure.wire.form import Form, arguments_form_of, form_of
from tenure.wire.reader import read_members, reader_of

T = TypeVar("T")


def to_json(value: msgspec.Struct) -> dict[str, JsonValue]:
    """Make the JSON object of a value of the model; instants become canonical text.

    Raises:
        InvalidInputError: it holds a naive ``datetime``.
    """
    form = form_of(type(value))
    return _object(form, {member.name: getattr(value, member.name) for member in form.members})


def json_form(value: object) -> Any:  # noqa: ANN401 - unchecked until it is dumped
    """Make the JSON form of a value of the model, a sequence of such values, or a JSON value."""
    if isinstance(value, tuple | list):
        return [_item(item) for item in value]
    return _item(value)


@overload
def from_json(kind: type[T], value: object, *, field: str = "value") -> T: ...


@overload
def from_json(kind: UnionType, value: object, *, field: str = "value") -> Any: ...  # noqa: ANN401 - a union has no type


def from_json(kind: Any, value: object, *, field: str = "value") -> Any:
    """Build a value of the type or union ``kind`` from its JSON form.

    Decisions of different operations share kinds, so name the union of one operation to read its
    answer. Evidence, references and results are checked as the operations check them, except for
    size and depth of their opaque parts, which the operations bound.

    Raises:
        InvalidInputError: names the path of what is missing, unknown, or of a wrong type.
    """
    return reader_of(kind)(value, field)


def arguments_to_json(
    operation: Callable[..., object], arguments: Mapping[str, object]
) -> dict[str, JsonValue]:
    """Make the JSON object of an operation's keyword arguments."""
    return _object(arguments_form_of(operation), arguments)


def arguments_from_json(
    operation: Callable[..., object], value: object, *, field: str = "arguments"
) -> dict[str, Any]:
    """Build an operation's keyword arguments from their JSON object.

    ``operation`` is a method of a port's protocol. An argument whose default is None is left out
    when it has no value, and is never null.

    Raises:
        InvalidInputError: names the path of what is missing, unknown, or of a wrong type.
    """
    return read_members(arguments_form_of(operation), value, field)


def _object(form: Form, values: Mapping[str, object]) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {}
    if form.tag is not None:
        members[form.tag[0]] = form.tag[1]
    for member in form.members:
        value = values.get(member.name)
        if value is not None or member.presence != "with-a-value":
            members[member.json_name] = json_form(value)
    return members


def _item(value: object) -> Any:  # noqa: ANN401 - unchecked until it is dumped
    if isinstance(value, msgspec.Struct):
        return to_json(value)
    return format_instant(value) if isinstance(value, datetime) else value
