"""Allocation references: a provider's own name for the infrastructure of one attempt."""

from typing import Final, Literal, TypeAlias, get_args

import msgspec

from tenure.errors import CorruptRecordError, InvalidInputError
from tenure.model.evidence import BoundedRecoveryEvidence, check_evidence
from tenure.model.identifier import check_identifier
from tenure.model.json_value import (
    JsonObject,
    JsonText,
    check_member_names,
    decode_written,
    encode_checked,
    encode_json,
    same_json,
)
from tenure.model.text import describe

AllocationLifetime: TypeAlias = Literal["provisioner-process-bound", "provider-managed"]
"""Whether an allocation dies with the process that provisioned it, or has to be found again."""
ALLOCATION_LIFETIMES: Final[tuple[AllocationLifetime, ...]] = get_args(AllocationLifetime)
PROVIDER_DATA_BYTES_MAX: Final = 64 * 1024
"""Default limit of ``provider_data``, in bytes of JSON text."""
PROVISIONER_LOSS_KIND: Final = "provisioner-incarnation-lost"
"""The one kind of proof that a process is gone."""
_REQUIRED: Final = frozenset({"version", "providerId", "providerData"})


class ProviderAllocationRef(msgspec.Struct, frozen=True, kw_only=True):
    """Names one allocation. Constructing one checks nothing; the operations do, before all else."""

    provider_id: str
    """Provider that made the allocation."""
    provider_data: JsonObject
    """The provider's own facts: an opaque JSON object, may be empty."""
    version: int = 1
    """Always 1."""


class ProcessBoundProvisionerLossProof(msgspec.Struct, frozen=True, kw_only=True):
    """Proof that one exact provisioner process incarnation is gone."""

    provisioner_incarnation_id: str
    """The incarnation that is gone."""
    evidence: BoundedRecoveryEvidence
    """What proves it."""
    kind: str = "provisioner-incarnation-lost"
    """Always ``provisioner-incarnation-lost``."""


def same_allocation_ref(stored: ProviderAllocationRef, candidate: ProviderAllocationRef) -> bool:
    """Tell whether two references denote the same allocation: equal as JSON values."""
    return same_json(_members(stored), _members(candidate))


def encode_allocation_ref(value: object, *, field: str, bytes_max: int) -> JsonText:
    """Check a reference and encode it in its JSON form.

    ``bytes_max`` and the limit of 64 levels bound ``provider_data``, not what is around it.

    Raises:
        InvalidInputError: another type or version, a bad provider id, or data that is not a
            JSON-safe object within the limits.
    """
    if type(value) is not ProviderAllocationRef:
        allowed = "ProviderAllocationRef"
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    if type(value.version) is not int or value.version != 1:
        given = describe(value.version)
        raise InvalidInputError(field=f"{field}.version", given=given, allowed="1")
    check_identifier(value.provider_id, field=f"{field}.provider_id")
    data = value.provider_data
    if type(data) is not dict:
        allowed = "a JSON object (dict)"
        given = describe(data)
        raise InvalidInputError(field=f"{field}.provider_data", given=given, allowed=allowed)
    data_text = encode_json(data, field=f"{field}.provider_data", bytes_max=bytes_max)
    id_text = encode_checked(value.provider_id)
    return JsonText(f'{{"version":1,"providerId":{id_text},"providerData":{data_text}}}')


def allocation_ref_from_json(value: object, *, field: str) -> ProviderAllocationRef:
    """Build a reference from its JSON form. The operations bound its ``provider_data``.

    Raises:
        InvalidInputError: a missing or further member, another version, a bad provider id.
    """
    members = check_member_names(value, required=_REQUIRED, optional=frozenset(), field=field)
    version, data = members["version"], members["providerData"]
    if type(version) is not int or version != 1:
        raise InvalidInputError(field=f"{field}.version", given=describe(version), allowed="1")
    if type(data) is not dict:
        allowed = "a JSON object"
        given = describe(data)
        raise InvalidInputError(field=f"{field}.providerData", given=given, allowed=allowed)
    provider_id = check_identifier(members["providerId"], field=f"{field}.providerId")
    return ProviderAllocationRef(provider_id=provider_id, provider_data=data)


def decode_allocation_ref(text: str, *, record: str) -> ProviderAllocationRef:
    """Decode a stored reference; the caller gets a value of its own.

    Raises:
        CorruptRecordError: the stored text does not satisfy the contract.
    """
    try:
        return allocation_ref_from_json(decode_written(text), field="allocationRef")
    except (ValueError, RecursionError) as exc:
        seen = f"its allocation reference is unreadable: {exc}"
        raise CorruptRecordError(record=record, seen=seen) from exc


def check_allocation_lifetime(value: object, *, field: str) -> AllocationLifetime:
    """Return ``value`` when it is one of the two lifetimes.

    Raises:
        InvalidInputError: anything else; there is no default.
    """
    for lifetime in ALLOCATION_LIFETIMES:
        if type(value) is str and value == lifetime:
            return lifetime
    allowed = " or ".join(repr(lifetime) for lifetime in ALLOCATION_LIFETIMES)
    raise InvalidInputError(field=field, given=describe(value), allowed=allowed)


def check_loss_proof(value: object, *, field: str) -> ProcessBoundProvisionerLossProof:
    """Return ``value`` when kind, incarnation and evidence are all valid.

    Raises:
        InvalidInputError: another type, or one of the three is not.
    """
    if type(value) is not ProcessBoundProvisionerLossProof:
        allowed = "ProcessBoundProvisionerLossProof"
        raise InvalidInputError(field=field, given=describe(value), allowed=allowed)
    if type(value.kind) is not str or value.kind != "provisioner-incarnation-lost":
        allowed = "'provisioner-incarnation-lost'"
        raise InvalidInputError(field=f"{field}.kind", given=describe(value.kind), allowed=allowed)
    incarnation = value.provisioner_incarnation_id
    check_identifier(incarnation, field=f"{field}.provisioner_incarnation_id")
    check_evidence(value.evidence, field=f"{field}.evidence")
    return value


def _members(ref: ProviderAllocationRef) -> JsonObject:
    return {
        "version": ref.version,
        "providerId": ref.provider_id,
        "providerData": ref.provider_data,
    }
