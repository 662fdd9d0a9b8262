"""Intake: callers' arguments become commands. Everything is checked here, before any read.

A presented claim is the exception: of it only the types are checked, because one that no ledger
could have made is answered like any other that does not hold.
"""

import msgspec

from tenure.errors import InvalidInputError
from tenure.model.allocation import PROVIDER_DATA_BYTES_MAX, encode_allocation_ref
from tenure.model.command import PresentedClaim
from tenure.model.evidence import check_evidence, encode_evidence
from tenure.model.execution import SUBMISSION_BYTES_MAX
from tenure.model.instant import InstantMs, parse_instant
from tenure.model.json_value import JsonText
from tenure.model.operation import ProviderOperationClaim
from tenure.model.result import RESULT_BYTES_MAX
from tenure.model.text import describe


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Largest payloads, in bytes of JSON text. May be raised, for all controllers alike."""

    provider_data_bytes_max: int = PROVIDER_DATA_BYTES_MAX
    result_bytes_max: int = RESULT_BYTES_MAX
    submission_bytes_max: int = SUBMISSION_BYTES_MAX

    def check(self) -> "Limits":
        """Return these limits when none is below the contract's.

        Raises:
            InvalidInputError: a limit is not an integer, or lower than the default.
        """
        default = Limits()
        for name in self.__struct_fields__:
            value, least = getattr(self, name), getattr(default, name)
            if type(value) is not int or value < least:
                allowed = f"an integer of at least {least}"
                raise InvalidInputError(field=name, given=describe(value), allowed=allowed)
        return self


def presented_claim(value: object) -> PresentedClaim:
    """Type-check a claim: any integer, any text.

    Raises:
        InvalidInputError: another type, or a member of another type.
    """
    if type(value) is not ProviderOperationClaim:
        given = describe(value)
        raise InvalidInputError(field="claim", given=given, allowed="ProviderOperationClaim")
    if type(value.generation) is not int:
        given = describe(value.generation)
        raise InvalidInputError(field="claim.generation", given=given, allowed="an integer")
    return PresentedClaim(
        execution_attempt_id=_text(value.execution_attempt_id, "claim.execution_attempt_id"),
        generation=value.generation,
        owner_id=_text(value.owner_id, "claim.owner_id"),
        token=_text(value.token, "claim.token"),
    )


def evidence_text(value: object, field: str = "evidence") -> JsonText:
    """Check evidence and encode it.

    Raises:
        InvalidInputError: it breaks the contract.
    """
    return encode_evidence(check_evidence(value, field=field))


def instant_ms(value: object, field: str) -> InstantMs:
    """Check an instant that the port orders by.

    Raises:
        InvalidInputError: naive, of another type or not of the grammar.
    """
    return parse_instant(value, field=field)


def ref_text(value: object, field: str, limits: Limits) -> tuple[str, JsonText]:
    """Check a reference; return its provider and its encoding.

    Raises:
        InvalidInputError: it breaks the contract.
    """
    text = encode_allocation_ref(value, field=field, bytes_max=limits.provider_data_bytes_max)
    provider_id = getattr(value, "provider_id", "")
    return provider_id, text


def page_limit(value: object, most: int) -> int:
    """Check how many entries a caller wants.

    Raises:
        InvalidInputError: not an integer from 1 to ``most``.
    """
    if type(value) is not int or not 1 <= value <= most:
        allowed = f"an integer from 1 to {most}"
        raise InvalidInputError(field="limit", given=describe(value), allowed=allowed)
    return value


def flag(value: object, field: str) -> bool:
    """Check a boolean.

    Raises:
        InvalidInputError: not a boolean.
    """
    if type(value) is not bool:
        raise InvalidInputError(field=field, given=describe(value), allowed="true or false")
    return value


def _text(value: object, field: str) -> str:
    if type(value) is not str:
        raise InvalidInputError(field=field, given=describe(value), allowed="text")
    return value
