"""Workflow results: four variants, each with its own members and no other's."""

import json

import msgspec
import pytest
from hypothesis import given
from tests.unit.model.values import JSON_OBJECTS, nested

from tenure.errors import CorruptRecordError, InvalidInputError
from tenure.model.json_value import JSON_DEPTH_MAX, JsonObject
from tenure.model.result import (
    RESULT_BYTES_MAX,
    CancelledResult,
    CompletedResult,
    FailedResult,
    PausedResult,
    WorkflowRunResult,
    decode_result,
    encode_result,
    result_from_json,
    result_to_json,
    same_workflow_result,
)

IDS = {"execution_id": "e", "workflow_id": "w"}
JSON_IDS = {"executionId": "e", "workflowId": "w"}
FORMS: list[tuple[WorkflowRunResult, dict[str, object]]] = [
    (CompletedResult(**IDS), {"status": "completed", **JSON_IDS}),
    (CompletedResult(**IDS, artifact={}), {"status": "completed", **JSON_IDS, "artifact": {}}),
    (
        CompletedResult(**IDS, artifact={"a": [None, "\0"]}),
        {"status": "completed", **JSON_IDS, "artifact": {"a": [None, "\0"]}},
    ),
    (FailedResult(**IDS, error="x"), {"status": "failed", **JSON_IDS, "error": "x"}),
    (CancelledResult(**IDS), {"status": "cancelled", **JSON_IDS}),
    (CancelledResult(**IDS, reason="r"), {"status": "cancelled", **JSON_IDS, "reason": "r"}),
    (
        PausedResult(**IDS, paused_at_gate_id="g", paused_at_frame_id="f"),
        {"status": "paused", **JSON_IDS, "pausedAtGateId": "g", "pausedAtFrameId": "f"},
    ),
]


def encode(value: object, bytes_max: int = RESULT_BYTES_MAX) -> str:
    return encode_result(value, field="result", bytes_max=bytes_max)


@pytest.mark.parametrize(("result", "form"), FORMS)
def test_each_variant_has_this_json_form(
    result: WorkflowRunResult, form: dict[str, object]
) -> None:
    assert result_to_json(result) == form
    assert json.loads(encode(result)) == form
    assert result_from_json(form, field="result") == result
    assert decode_result(encode(result), record="r") == result


@pytest.mark.parametrize(
    ("result", "field"),
    [
        (None, "result"),
        ({"status": "completed", **JSON_IDS}, "result"),
        (CompletedResult(execution_id="", workflow_id="w"), "result.execution_id"),
        (CompletedResult(execution_id="e", workflow_id=""), "result.workflow_id"),
        (CompletedResult(execution_id="e", workflow_id=1), "result.workflow_id"),
        (CompletedResult(**IDS, artifact=[]), "result.artifact"),
        (CompletedResult(**IDS, artifact="x"), "result.artifact"),
        (CompletedResult(**IDS, artifact={"a": float("inf")}), "result"),
        (FailedResult(**IDS, error=""), "result.error"),
        (FailedResult(**IDS, error=None), "result.error"),
        (FailedResult(**IDS, error="\ud800"), "result.error"),
        (CancelledResult(**IDS, reason=""), "result.reason"),
        (PausedResult(**IDS, paused_at_gate_id="", paused_at_frame_id="f"),
         "result.paused_at_gate_id"),
        (PausedResult(**IDS, paused_at_gate_id="g", paused_at_frame_id=""),
         "result.paused_at_frame_id"),
    ],
)  # fmt: skip
def test_a_malformed_result_is_refused_by_field(result: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        encode(result)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (None, "r.status"),
        ("completed", "r.status"),
        ({}, "r.status"),
        ({"status": "done", **JSON_IDS}, "r.status"),
        ({"status": ["completed"], **JSON_IDS}, "r.status"),
        ({"status": "completed"}, "r"),
        ({"status": "completed", "executionId": "e"}, "r"),
        ({"status": "completed", **JSON_IDS, "error": "x"}, "r"),
        ({"status": "completed", **JSON_IDS, "artifact": None}, "r.artifact"),
        ({"status": "completed", **JSON_IDS, "artifact": []}, "r.artifact"),
        ({"status": "failed", **JSON_IDS}, "r"),
        ({"status": "failed", **JSON_IDS, "error": ""}, "r.error"),
        ({"status": "failed", **JSON_IDS, "error": "x", "artifact": {}}, "r"),
        ({"status": "cancelled", **JSON_IDS, "reason": None}, "r.reason"),
        ({"status": "cancelled", **JSON_IDS, "reason": ""}, "r.reason"),
        ({"status": "paused", **JSON_IDS, "pausedAtGateId": "g"}, "r"),
        ({"status": "paused", **JSON_IDS, "pausedAtGateId": "g", "pausedAtFrameId": ""},
         "r.pausedAtFrameId"),
        ({"status": "completed", "executionId": "", "workflowId": "w"}, "r.executionId"),
        ({"status": "completed", "execution_id": "e", "workflow_id": "w"}, "r"),
    ],
)  # fmt: skip
def test_a_malformed_json_form_is_refused_by_name(form: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        result_from_json(form, field="r")
    assert caught.value.field == field


def test_a_result_has_one_mebibyte_in_all() -> None:
    frame = len(encode(FailedResult(**IDS, error="x"))) - 1
    most = FailedResult(**IDS, error="x" * (RESULT_BYTES_MAX - frame))
    assert decode_result(encode(most), record="r") == most
    with pytest.raises(InvalidInputError, match=r"1048577 bytes.*at most 1048576 bytes"):
        encode(msgspec.structs.replace(most, error=most.error + "x"))
    encode(msgspec.structs.replace(most, error=most.error + "x"), bytes_max=RESULT_BYTES_MAX + 1)


def test_a_result_nests_64_levels_in_all() -> None:
    deepest = CompletedResult(**IDS, artifact=nested(JSON_DEPTH_MAX - 1))
    assert decode_result(encode(deepest), record="r") == deepest
    with pytest.raises(InvalidInputError, match="at most 64"):
        encode(CompletedResult(**IDS, artifact=nested(JSON_DEPTH_MAX)))


@given(JSON_OBJECTS)
def test_an_artifact_comes_back_exactly(artifact: JsonObject) -> None:
    result = CompletedResult(**IDS, artifact=artifact)
    back = decode_result(encode(result), record="r")
    assert repr(back) == repr(result)
    assert same_workflow_result(back, result)


@pytest.mark.parametrize("text", ["", "null", "{}", '{"status":"completed"}', "[" * 500])
def test_a_stored_result_that_breaks_the_contract_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptRecordError, match="attempt 'a'"):
        decode_result(text, record="attempt 'a'")


def test_results_are_the_same_as_json_values() -> None:
    assert same_workflow_result(
        CompletedResult(**IDS, artifact={"a": 1, "b": 2}),
        CompletedResult(**IDS, artifact={"b": 2, "a": 1.0}),
    )
    different: list[tuple[WorkflowRunResult, WorkflowRunResult]] = [
        (CompletedResult(**IDS), CompletedResult(**IDS, artifact={})),
        (CompletedResult(**IDS), CancelledResult(**IDS)),
        (CancelledResult(**IDS), CancelledResult(**IDS, reason="r")),
        (FailedResult(**IDS, error="é"), FailedResult(**IDS, error="e\u0301")),
    ]
    for left, right in different:
        assert not same_workflow_result(left, right)
        assert not same_workflow_result(right, left)
