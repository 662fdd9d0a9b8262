"""Forms: which members the JSON of a type has, read off the type itself.

A form follows from the type: each field is a member under its camelCase name, and the literal that
tells variants apart (``kind`` of a decision, ``status`` of a result) comes first. Only what a type
cannot say is written down here: which members are absent when they have no value, and which may be
left out by who writes them. Everything else is always there, null included.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, TypeAlias, get_type_hints

import msgspec

from tenure.model.attempt import ExecutionAttemptRecord, RecoverableAttemptRecord
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.execution import ExecutionSubmission
from tenure.model.result import CancelledResult, CompletedResult

Presence: TypeAlias = Literal["always", "with-a-value", "may-be-left-out"]
"""``with-a-value``: absent instead of null. ``may-be-left-out``: then it has its default."""

_WITH_A_VALUE: Final[Mapping[object, frozenset[str]]] = {
    BoundedRecoveryEvidence: frozenset({"code"}),
    CompletedResult: frozenset({"artifact"}),
    CancelledResult: frozenset({"reason"}),
}
_OWN_DEFAULT: Final = object()
_LEFT_OUT: Final[Mapping[object, Mapping[str, object]]] = {
    ExecutionAttemptRecord: {"settlement_kind": None, "claimable": False, "claim_expires_at": None},
    RecoverableAttemptRecord: {"claim_expires_at": None},
    ExecutionSubmission: dict.fromkeys(
        (
            "attempts_max",
            "attempt_timeout_ms",
            "retry_failed",
            "retry_delay_ms",
            "retry_delay_ms_max",
            "labels",
        ),
        _OWN_DEFAULT,
    ),
}
_TAG_NAMES: Final = ("kind", "status")
_HEAD_NAMES: Final = frozenset({"kind", "version"})
_NAMES_IN_HINTS: Final[dict[str, Any]] = {
    "JsonValue": object,  # a recursive alias; what it holds is checked where it is encoded
    "Mapping": Mapping,
    "Sequence": Sequence,
}


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One member of an object."""

    name: str
    """The Python field or parameter."""
    json_name: str
    hint: Any
    presence: Presence = "always"
    left_out: Mapping[str, object] = {}
    """What to call with when the member was left out; empty: the callee has its own default."""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What the JSON object of one type looks like."""

    tag: tuple[str, str] | None
    """Member and literal that tell this variant from its siblings; always first."""
    members: tuple[Member, ...]
    required: frozenset[str]
    """JSON names, the tag's included."""
    optional: frozenset[str]


def camel_case(name: str) -> str:
    """Make the JSON name of a Python name: ``lease_expires_at`` is ``leaseExpiresAt``."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


@cache
def form_of(struct: type[msgspec.Struct]) -> Form:
    """Read off the form of a type."""
    hints = get_type_hints(struct, localns=_NAMES_IN_HINTS)
    names = sorted(struct.__struct_fields__, key=lambda name: name not in _HEAD_NAMES)
    members = tuple(_member_of(struct, name, hints[name]) for name in names)
    return _form(tag_of(struct), members)


@cache
def arguments_form_of(operation: Callable[..., object]) -> Form:
    """Read off the form of an operation's keyword arguments.

    An argument whose default is None is absent when it has no value; any other that has a default
    may be left out.
    """
    hints = get_type_hints(operation, localns=_NAMES_IN_HINTS)
    parameters = inspect.signature(operation).parameters.values()
    keywords = [each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    return _form(None, tuple(_argument_of(each, hints[each.name]) for each in keywords))


def tag_of(struct: type[msgspec.Struct]) -> tuple[str, str] | None:
    """Find the literal that tells a variant from its siblings, with the member that holds it."""
    for name in _TAG_NAMES:
        literal = getattr(struct, name, None)
        if name not in struct.__struct_fields__ and isinstance(literal, str):
            return name, literal
    return None


def _member_of(struct: type[msgspec.Struct], name: str, hint: object) -> Member:
    json_name = camel_case(name)
    if name in _WITH_A_VALUE.get(struct, frozenset()):
        return Member(name=name, json_name=json_name, hint=hint, presence="with-a-value")
    defaults = _LEFT_OUT.get(struct, {})
    if name not in defaults:
        return Member(name=name, json_name=json_name, hint=hint)
    left_out = {} if defaults[name] is _OWN_DEFAULT else {name: defaults[name]}
    return Member(
        name=name, json_name=json_name, hint=hint, presence="may-be-left-out", left_out=left_out
    )


def _argument_of(parameter: inspect.Parameter, hint: object) -> Member:
    presence: Presence = "may-be-left-out"
    if parameter.default is inspect.Parameter.empty:
        presence = "always"
    elif parameter.default is None:
        presence = "with-a-value"
    name = parameter.name
    return Member(name=name, json_name=camel_case(name), hint=hint, presence=presence)


def _form(tag: tuple[str, str] | None, members: tuple[Member, ...]) -> Form:
    always = frozenset(member.json_name for member in members if member.presence == "always")
    return Form(
        tag=tag,
        members=members,
        required=always if tag is None else always | {tag[0]},
        optional=frozenset(member.json_name for member in members) - always,
    )
