"""Allocation references, lifetimes, and proofs of loss."""

import json

import msgspec
import pytest
from hypothesis import given
from tests.unit.model.values import JSON_OBJECTS, nested

from tenure.errors import CorruptRecordError, InvalidInputError
from tenure.model.allocation import (
    PROVIDER_DATA_BYTES_MAX,
    ProcessBoundProvisionerLossProof,
    ProviderAllocationRef,
    allocation_ref_from_json,
    check_allocation_lifetime,
    check_loss_proof,
    decode_allocation_ref,
    encode_allocation_ref,
    same_allocation_ref,
)
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.json_value import JSON_DEPTH_MAX, JsonObject

EVIDENCE = BoundedRecoveryEvidence(source="s", summary="w", observed_at="2026-02-03T04:05Z")
PROOF = ProcessBoundProvisionerLossProof(provisioner_incarnation_id="i", evidence=EVIDENCE)


def ref(provider_data: object = None, **members: object) -> ProviderAllocationRef:
    data = {} if provider_data is None else provider_data
    return ProviderAllocationRef(**{"provider_id": "p", "provider_data": data, **members})


def encode(value: object, bytes_max: int = PROVIDER_DATA_BYTES_MAX) -> str:
    return encode_allocation_ref(value, field="ref", bytes_max=bytes_max)


def test_the_json_form_is_the_declarations() -> None:
    assert encode(ref()) == '{"version":1,"providerId":"p","providerData":{}}'
    text = encode(ref({"b": [1, None], "a": "\0"}, provider_id='q"é'))
    assert json.loads(text) == {
        "version": 1,
        "providerId": 'q"é',
        "providerData": {"b": [1, None], "a": "\0"},
    }


@given(JSON_OBJECTS)
def test_a_reference_comes_back_exactly(data: JsonObject) -> None:
    value = ref(data)
    back = decode_allocation_ref(encode(value), record="r")
    assert repr(back) == repr(value)
    assert same_allocation_ref(back, value)
    assert back.provider_data is not data


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "ref"),
        ({"version": 1, "providerId": "p", "providerData": {}}, "ref"),
        (ref(version=2), "ref.version"),
        (ref(version=0), "ref.version"),
        (ref(version=True), "ref.version"),
        (ref(version=1.0), "ref.version"),
        (ref(version="1"), "ref.version"),
        (ref(version=None), "ref.version"),
        (ref(provider_id=""), "ref.provider_id"),
        (ref(provider_id=None), "ref.provider_id"),
        (ref(provider_id="a\0"), "ref.provider_id"),
        (ref(provider_id="x" * 256), "ref.provider_id"),
        (ref([]), "ref.provider_data"),
        (ref("x"), "ref.provider_data"),
        (ref({"a": float("nan")}), "ref.provider_data"),
        (ref({"a": (1,)}), "ref.provider_data"),
        (ref({1: 2}), "ref.provider_data"),
        (ref({"a": "\ud800"}), "ref.provider_data"),
    ],
)
def test_a_malformed_reference_is_refused_by_field(value: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        encode(value)
    assert caught.value.field == field


def test_provider_data_has_64_kib_and_not_a_byte_more() -> None:
    most = "x" * (PROVIDER_DATA_BYTES_MAX - len('{"a":""}'))
    assert decode_allocation_ref(encode(ref({"a": most})), record="r") == ref({"a": most})
    with pytest.raises(InvalidInputError, match=r"65537 bytes .*at most 65536 bytes"):
        encode(ref({"a": most + "x"}))
    raised = encode(ref({"a": most + "x"}), bytes_max=PROVIDER_DATA_BYTES_MAX + 1)
    assert decode_allocation_ref(raised, record="r") == ref({"a": most + "x"})


def test_provider_data_has_64_levels_and_comes_back() -> None:
    deepest = ref(nested(JSON_DEPTH_MAX))
    assert decode_allocation_ref(encode(deepest), record="r") == deepest
    with pytest.raises(InvalidInputError, match="at most 64"):
        encode(ref(nested(JSON_DEPTH_MAX + 1)))


def test_later_changes_of_the_callers_dict_change_nothing() -> None:
    data: dict[str, object] = {"a": [1]}
    text = encode(ref(data))
    data["a"] = 2
    assert decode_allocation_ref(text, record="r") == ref({"a": [1]})


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "r"),
        ([], "r"),
        ({}, "r"),
        ({"version": 1, "providerId": "p"}, "r"),
        ({"version": 1, "providerId": "p", "providerData": {}, "x": 1}, "r"),
        ({"version": 2, "providerId": "p", "providerData": {}}, "r.version"),
        ({"version": True, "providerId": "p", "providerData": {}}, "r.version"),
        ({"version": 1, "providerId": "", "providerData": {}}, "r.providerId"),
        ({"version": 1, "providerId": "p", "providerData": None}, "r.providerData"),
        ({"version": 1, "providerId": "p", "providerData": []}, "r.providerData"),
    ],
)
def test_a_malformed_json_form_is_refused_by_name(value: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        allocation_ref_from_json(value, field="r")
    assert caught.value.field == field


@pytest.mark.parametrize("text", ["", "null", "{}", '{"version":1}', '{"a":1,"a":1}', "[" * 500])
def test_a_stored_reference_that_breaks_the_contract_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptRecordError, match="attempt 'a'"):
        decode_allocation_ref(text, record="attempt 'a'")


def test_references_are_the_same_as_json_values() -> None:
    assert same_allocation_ref(ref({"a": 1, "b": 2}), ref({"b": 2.0, "a": 1}))
    assert not same_allocation_ref(ref({"a": 1}), ref({"a": 1}, provider_id="q"))
    assert not same_allocation_ref(ref({"a": 1}), ref({"a": True}))
    assert not same_allocation_ref(ref({"a": None}), ref({}))
    assert not same_allocation_ref(ref(version=1), ref(version=2))


def test_there_are_two_lifetimes_and_no_default() -> None:
    for lifetime in ("provisioner-process-bound", "provider-managed"):
        assert check_allocation_lifetime(lifetime, field="x") == lifetime
    for value in (None, "", "Provider-Managed", "provider-managed ", 1, [], {}):
        with pytest.raises(InvalidInputError, match="'provisioner-process-bound' or"):
            check_allocation_lifetime(value, field="allocation_lifetime")


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"kind": "other"}, "proof.kind"),
        ({"kind": None}, "proof.kind"),
        ({"provisioner_incarnation_id": ""}, "proof.provisioner_incarnation_id"),
        ({"provisioner_incarnation_id": 1}, "proof.provisioner_incarnation_id"),
        ({"evidence": None}, "proof.evidence"),
        ({"evidence": msgspec.structs.replace(EVIDENCE, source="")}, "proof.evidence.source"),
    ],
)
def test_all_three_parts_of_a_proof_are_checked(members: dict[str, object], field: str) -> None:
    assert check_loss_proof(PROOF, field="proof") is PROOF
    with pytest.raises(InvalidInputError) as caught:
        check_loss_proof(msgspec.structs.replace(PROOF, **members), field="proof")
    assert caught.value.field == field


def test_another_type_is_no_proof() -> None:
    for value in (None, {}, EVIDENCE):
        with pytest.raises(InvalidInputError, match="ProcessBoundProvisionerLossProof"):
            check_loss_proof(value, field="proof")
