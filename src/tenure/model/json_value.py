"""JSON values: what may be stored, how it is encoded, and when two of them are the same.

Rules: a value is walked by our own iterative check before anything is encoded, because JSON
libraries repair or drop what must be refused; stored text is made only here; text is decoded
strictly, whether it comes from a store or from outside.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NewType, NoReturn, TypeAlias

import msgspec

from tenure.errors import InvalidInputError
from tenure.model.text import describe, is_unicode, shorten

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
    )
else:
    JsonValue = object  # nobody who resolves annotations while running could follow a recursion
"""Null, booleans, finite numbers, valid Unicode strings, lists, string-keyed dicts."""
JsonObject: TypeAlias = Mapping[str, JsonValue]
JsonText = NewType("JsonText", str)
"""Encoded JSON: immutable, so that a row that holds it can be shared without a copy."""

JSON_DEPTH_MAX: Final = 64
"""Deepest nesting of arrays and objects in a value that is given to us; a scalar has depth 0,
``[]`` depth 1."""
ENVELOPE_DEPTH_MAX: Final = 8
"""How many levels our own forms may put around a value: a reference, an entry, a page …"""
INTEGER_DIGITS_MAX: Final = 4000
"""Most decimal digits of an integer."""

_INTEGER_BOUND: Final = 10**INTEGER_DIGITS_MAX
_SMALL_BOUND: Final = 10**18
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_SHOWN_NAMES_UNITS_MAX: Final = 200
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET: Final = re.compile(r"[\[\]{}]")
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def encode_json(
    value: object, *, field: str, bytes_max: int, depth_max: int = JSON_DEPTH_MAX
) -> JsonText:
    """Check that ``value`` is JSON-safe and encode it.

    The walk is iterative and visits at most ``bytes_max`` nodes, so neither depth, nor a cycle, nor
    a structure that shares its parts can exhaust stack or memory. ``bytes_max`` bounds the UTF-8
    size of the text.

    Raises:
        InvalidInputError: not JSON-safe, nested deeper than ``depth_max``, or larger than
            ``bytes_max``.
    """
    check_json_safe(value, field=field, bytes_max=bytes_max, depth_max=depth_max)
    text = encode_checked(value)
    if len(text) > bytes_max or (not text.isascii() and len(text.encode()) > bytes_max):
        _refuse_size(field, len(text.encode()), bytes_max)
    return text


def encode_checked(value: object) -> JsonText:
    """Encode what is JSON-safe and small for sure, because it was checked or made here."""
    return JsonText(msgspec.json.encode(value).decode())


def check_json_safe(value: object, *, field: str, bytes_max: int, depth_max: int) -> None:
    """Walk ``value`` level by level; the promises are those of ``encode_json``.

    ``size`` is a lower bound of the text's size: one for each node, more for what is known cheaply.
    Each level is counted before it is walked, so no level can outgrow the bound either.

    Raises:
        InvalidInputError: not JSON-safe, too deep, or certainly larger than ``bytes_max``.
    """
    level: list[object] = [value]
    size = 1
    for depth in range(depth_max + 1):
        below: list[object] = []
        for node in level:
            if type(node) is str and node.isascii():
                size += len(node)  # the usual case, without a call
                continue
            if type(node) is not dict and type(node) is not list:
                size += _check_scalar(node, field)
                continue
            if depth == depth_max:
                _refuse(field, f"at least {depth + 1} levels of nesting", f"at most {depth_max}")
            size += len(node)
            if size <= bytes_max:
                below.extend(node.values() if type(node) is dict else node)
                size += _check_names(node, field) if type(node) is dict else 0
            if size > bytes_max:
                _refuse_size(field, size, bytes_max)
        if not below:
            break
        level = below
    if size > bytes_max:
        _refuse_size(field, size, bytes_max)


def same_json(stored: JsonValue, candidate: JsonValue) -> bool:
    """Tell whether two JSON values are equal as values.

    Objects are compared by member, whatever their order; arrays place by place. Numbers are
    compared exactly (``1`` equals ``1.0``, ``-0.0`` equals ``0``, integers beyond 2**53 stay
    exact); ``1`` is neither ``true`` nor ``"1"``; an absent member is not ``null``; strings are
    compared without normalization.
    """
    pairs: list[tuple[object, object]] = [(stored, candidate)]
    compared: dict[tuple[int, int], object] = {}
    while pairs:
        left, right = pair = pairs.pop()
        if type(left) in _SCALARS:
            if not _same_scalar(left, right):
                return False
            continue
        identity = (id(left), id(right))
        if identity in compared:
            continue
        compared[identity] = pair  # held, so that no id is used again
        members = _paired_members(left, right)
        if members is None:
            return False
        pairs.extend(members)
    return True


def decode_written(text: str) -> JsonValue:
    """Decode text that is probably our own: as strict as ``decode_json``, faster when it is.

    A short, flat text that comes out the same when it is encoded again has no member twice, no
    number that was bent, and too few characters for too many digits: the strict way could find
    nothing. Any other text goes that way.

    Raises:
        ValueError: as from ``decode_json``.
    """
    if len(text) <= INTEGER_DIGITS_MAX and _nesting(text) <= JSON_DEPTH_MAX:
        try:
            value: JsonValue = _FAST_DECODER.decode(text)
            if msgspec.json.encode(value) == text.encode():
                return value
        except (ValueError, msgspec.MsgspecError):
            pass  # the strict way says what is wrong
    return decode_json(text)


def decode_json(text: str) -> JsonValue:
    """Decode JSON text strictly and without unbounded recursion.

    The nesting may exceed that of a given value by the levels that our own forms put around it.

    Raises:
        ValueError: malformed, duplicate members, a lone surrogate, a non-finite number, an integer
            of more than 4,000 digits, or nesting deeper than 64 + 8.
    """
    depth_max = JSON_DEPTH_MAX + ENVELOPE_DEPTH_MAX
    if _nesting(text) > depth_max:
        msg = f"nested deeper than {depth_max} levels"
        raise ValueError(msg)
    value: JsonValue = _DECODER.decode(text)
    if not is_unicode(text) or _SURROGATE_ESCAPE.search(text):
        check_json_safe(value, field="JSON text", bytes_max=len(text) + 1, depth_max=depth_max)
    return value


def check_member_names(
    value: object, *, required: frozenset[str], optional: frozenset[str], field: str
) -> dict[str, JsonValue]:
    """Return ``value`` when it is an object with all required and no unknown members.

    Raises:
        InvalidInputError: another type, or names what is missing and what is unknown.
    """
    if type(value) is not dict:
        _refuse(field, describe(value), "a JSON object")
    if value.keys() == required:
        return value
    missing = required - value.keys()
    unknown = value.keys() - required - optional
    if not missing and not unknown:
        return value
    seen = [f"lacking {_listed(missing)}"] if missing else []
    seen += [f"with unknown {_listed(unknown)}"] if unknown else []
    allowed = _listed(required) + (f", optionally {_listed(optional)}" if optional else "")
    given = f"an object {' and '.join(seen)}"
    raise InvalidInputError(field=field, given=given, allowed=f"the members {allowed}")


def _check_scalar(node: object, field: str) -> int:
    """Refuse what is not JSON-safe; return how many bytes the node takes at least, less one."""
    kind = type(node)
    if kind is str:
        assert isinstance(node, str)
        if not is_unicode(node):
            _refuse(field, "a string with a lone surrogate", "valid Unicode")
        return len(node)
    if kind is int:
        assert isinstance(node, int)
        if -_SMALL_BOUND < node < _SMALL_BOUND:
            return 0
        if not -_INTEGER_BOUND < node < _INTEGER_BOUND:
            _refuse(field, describe(node), f"integers of at most {INTEGER_DIGITS_MAX} digits")
        return node.bit_length() // 4  # a digit holds less than four bits
    if node is None or kind is bool or (isinstance(node, float) and _is_finite(node)):
        return 0
    allowed = "null, booleans, finite numbers, plain strings, lists and string-keyed dicts"
    raise InvalidInputError(field=field, given=describe(node), allowed=allowed)


def _is_finite(node: float) -> bool:
    return type(node) is float and math.isfinite(node)


def _check_names(node: Mapping[object, object], field: str) -> int:
    size = 0
    for name in node:
        if type(name) is not str:
            _refuse(field, f"a member named by {describe(name)}", "string-keyed dicts")
        size += len(name) if name.isascii() else _check_scalar(name, field)
    return size


def _refuse(field: str, given: str, allowed: str) -> NoReturn:
    raise InvalidInputError(field=field, given=given, allowed=allowed)


def _refuse_size(field: str, size: int, bytes_max: int) -> NoReturn:
    _refuse(field, f"{size} bytes of JSON or more", f"at most {bytes_max} bytes")


def _listed(names: Iterable[str]) -> str:
    shown = ", ".join(sorted(ascii(name)[1:-1] for name in names))
    return shorten(shown, _SHOWN_NAMES_UNITS_MAX) or "none"


def _paired_members(left: object, right: object) -> Iterable[tuple[object, object]] | None:
    """Pair up what two containers hold, or return None when they cannot be the same."""
    if type(left) is dict or isinstance(left, Mapping):
        if not isinstance(right, Mapping) or left.keys() != right.keys():
            return None
        return [(member, right[name]) for name, member in left.items()]
    if not isinstance(left, list | tuple) or not isinstance(right, list | tuple):
        return None
    return zip(left, right, strict=True) if len(left) == len(right) else None


def _same_scalar(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    return type(left) is type(right) and left == right


def _nesting(text: str) -> int:
    """Bound the nesting without recursion; exact only where it could matter."""
    if text.count("[") + text.count("{") <= JSON_DEPTH_MAX:
        return 0
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _unique_members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        msg = "a member appears twice in one object"
        raise ValueError(msg)
    return members


def _bounded_integer(digits: str) -> int:
    if len(digits.lstrip("-")) > INTEGER_DIGITS_MAX:
        msg = f"an integer of more than {INTEGER_DIGITS_MAX} digits"
        raise ValueError(msg)
    return int(digits)


def _finite_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = "a number beyond the range of a double"
        raise ValueError(msg)
    return number


def _no_constant(name: str) -> NoReturn:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


_FAST_DECODER: Final = msgspec.json.Decoder()
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique_members,
    parse_int=_bounded_integer,
    parse_float=_finite_number,
    parse_constant=_no_constant,
)
