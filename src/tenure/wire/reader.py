"""Readers: for each type a function that builds its value from JSON, strictly.

A reader is made once for each type and kept. What the model can read itself, with all of its
bounds, is left to the model.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin

import msgspec

from tenure.errors import InvalidInputError
from tenure.model.allocation import (
    PROVISIONER_LOSS_KIND,
    ProcessBoundProvisionerLossProof,
    ProviderAllocationRef,
    allocation_ref_from_json,
)
from tenure.model.evidence import BoundedRecoveryEvidence, evidence_from_json
from tenure.model.identifier import check_identifier
from tenure.model.instant import parse_instant, to_datetime
from tenure.model.json_value import check_member_names
from tenure.model.result import (
    CancelledResult,
    CompletedResult,
    FailedResult,
    PausedResult,
    result_from_json,
)
from tenure.model.text import describe, is_unicode
from tenure.wire.form import Form, form_of, tag_of

Reader: TypeAlias = Callable[[object, str], Any]
"""Given a JSON value and its path, builds the value or raises ``InvalidInputError``."""

_RESULTS: Final[frozenset[type[msgspec.Struct]]] = frozenset(
    {CompletedResult, FailedResult, CancelledResult, PausedResult}
)


@cache
def reader_of(hint: Any) -> Reader:  # noqa: ANN401 - any type expression
    """Find or make the reader of a type, a literal, a union, or a sequence of them."""
    known = _READERS.get(hint)
    if known is not None:
        return known
    origin = get_origin(hint)
    if origin is Union or origin is UnionType:
        return _union_reader(get_args(hint))
    if origin is Literal:
        return _literal_reader(get_args(hint))
    if origin is Mapping:
        return _read_object
    if origin is tuple or origin is Sequence:
        return _array_reader(reader_of(get_args(hint)[0]))
    assert isinstance(hint, type)
    assert issubclass(hint, msgspec.Struct)
    return _struct_reader(hint)


def read_members(form: Form, value: object, field: str) -> dict[str, Any]:
    """Read the members of an object into keyword arguments.

    Raises:
        InvalidInputError: names the path of what is missing, unknown, or of a wrong type.
    """
    required, optional = form.required, form.optional
    members = check_member_names(value, required=required, optional=optional, field=field)
    read: dict[str, Any] = {}
    for member in form.members:
        if member.json_name not in members:
            read.update(member.left_out)
            continue
        item, path = members[member.json_name], f"{field}.{member.json_name}"
        if item is None and member.presence == "with-a-value":
            raise InvalidInputError(field=path, given="null", allowed="a value, or no member")
        read[member.name] = reader_of(member.hint)(item, path)
    return read


def _struct_reader(struct: type[msgspec.Struct]) -> Reader:
    form = form_of(struct)

    def read(value: object, field: str) -> msgspec.Struct:
        members = read_members(form, value, field)
        if form.tag is not None:
            assert isinstance(value, dict)
            _read_literal(value[form.tag[0]], f"{field}.{form.tag[0]}", (form.tag[1],))
        return struct(**members)

    return read


def _union_reader(parts: Sequence[Any]) -> Reader:
    some = [part for part in parts if part is not NoneType]
    if set(some) == {datetime, str}:
        reader: Reader = _read_instant_or_text
    elif len(some) == 1:
        reader = reader_of(some[0])
    else:
        reader = _variant_reader(some)
    if len(some) == len(parts):
        return reader
    return lambda value, field: None if value is None else reader(value, field)


def _variant_reader(variants: Sequence[type[msgspec.Struct]]) -> Reader:
    """Make the reader of variants that a literal tells apart; one may have a field in its place."""
    tags = {tag: variant for variant in variants if (tag := tag_of(variant)) is not None}
    names = {name for name, _ in tags}
    others = [variant for variant in variants if tag_of(variant) is None]
    assert len(tags) + len(others) == len(variants)
    assert len(names) == 1
    assert len(others) <= 1
    name = names.pop()
    literals = tuple(literal for _, literal in tags)

    def read(value: object, field: str) -> Any:  # noqa: ANN401 - one of the variants
        given = _read_object(value, field).get(name)
        if others and given not in literals:
            return reader_of(others[0])(value, field)
        literal = _read_literal(given, f"{field}.{name}", literals)
        return reader_of(tags[name, literal])(value, field)

    return read


def _literal_reader(literals: tuple[Any, ...]) -> Reader:
    return lambda value, field: _read_literal(value, field, literals)


def _array_reader(read_item: Reader) -> Reader:
    def read(value: object, field: str) -> tuple[Any, ...]:
        if type(value) is not list:
            raise InvalidInputError(field=field, given=describe(value), allowed="a JSON array")
        return tuple(read_item(item, f"{field}[{index}]") for index, item in enumerate(value))

    return read


def _exact_reader(kind: type, allowed: str) -> Reader:
    def read(value: object, field: str) -> object:
        if type(value) is not kind:
            raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
        return value

    return read


def _read_literal(value: object, field: str, literals: tuple[Any, ...]) -> Any:  # noqa: ANN401 - as listed
    for literal in literals:
        if type(value) is type(literal) and value == literal:
            return literal
    allowed = " or ".join(repr(literal) for literal in literals)
    raise InvalidInputError(field=field, given=describe(value), allowed=allowed)


def _read_object(value: object, field: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise InvalidInputError(field=field, given=describe(value), allowed="a JSON object")
    return value


def _read_text(value: object, field: str) -> str:
    if type(value) is not str or not is_unicode(value):
        allowed = "a string of valid Unicode"
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    return value


def _read_instant(value: object, field: str) -> datetime:
    return to_datetime(parse_instant(_read_text(value, field), field=field))


def _read_instant_or_text(value: object, field: str) -> datetime | str:
    """Read what an operation will check, or, in a presented claim, never compare."""
    text = _read_text(value, field)
    try:
        return to_datetime(parse_instant(text, field=field))
    except InvalidInputError:
        return text


def _read_proof(value: object, field: str) -> ProcessBoundProvisionerLossProof:
    members = read_members(form_of(ProcessBoundProvisionerLossProof), value, field)
    _read_literal(members["kind"], f"{field}.kind", (PROVISIONER_LOSS_KIND,))
    incarnation_id = members["provisioner_incarnation_id"]
    check_identifier(incarnation_id, field=f"{field}.provisionerIncarnationId")
    return ProcessBoundProvisionerLossProof(**members)


def _result_reader(variant: type[msgspec.Struct]) -> Reader:
    def read(value: object, field: str) -> object:
        tag = tag_of(variant)
        assert tag is not None
        _read_literal(_read_object(value, field).get(tag[0]), f"{field}.{tag[0]}", (tag[1],))
        return result_from_json(value, field=field)

    return read


_READERS: Final[Mapping[Any, Reader]] = MappingProxyType(
    {
        str: _read_text,
        bool: _exact_reader(bool, "true or false"),
        int: _exact_reader(int, "an integer"),
        NoneType: _exact_reader(NoneType, "null"),
        datetime: _read_instant,
        BoundedRecoveryEvidence: lambda value, field: evidence_from_json(value, field=field),
        ProviderAllocationRef: lambda value, field: allocation_ref_from_json(value, field=field),
        ProcessBoundProvisionerLossProof: _read_proof,
        **{variant: _result_reader(variant) for variant in _RESULTS},
    }
)
