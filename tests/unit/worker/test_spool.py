"""A spool is read back as it was written, or not at all."""

import pytest
from hypothesis import given, strategies as st

from tenure.errors import InvalidInputError
from tenure.model.json_value import JSON_DEPTH_MAX, JsonValue
from tenure.model.result import (
    RESULT_BYTES_MAX,
    CancelledResult,
    CompletedResult,
    FailedResult,
    PausedResult,
    WorkflowRunResult,
    encode_result,
)
from tenure.wire.spool import (
    SPOOL_BYTES_MAX,
    SpoolContent,
    SpoolDefect,
    decode_spool,
    encode_spool,
)

RESULTS: list[WorkflowRunResult] = [
    CompletedResult(execution_id="e", workflow_id="w"),
    CompletedResult(execution_id="e", workflow_id="w", artifact={"a\0": ["\0", 1, None, {}]}),
    FailedResult(execution_id="e", workflow_id="w", error="exit status 1 after 0.00 s\n\0"),
    CancelledResult(execution_id="e", workflow_id="w"),
    CancelledResult(execution_id="e", workflow_id="w", reason="why"),
    PausedResult(execution_id="e", workflow_id="w", paused_at_gate_id="g", paused_at_frame_id="f"),
]
ENCODED = encode_spool(SpoolContent(execution_id="e", execution_attempt_id="a", result=RESULTS[1]))


@pytest.mark.parametrize("result", RESULTS)
def test_what_was_written_is_read(result: WorkflowRunResult) -> None:
    content = SpoolContent(execution_id="e", execution_attempt_id="a", result=result)
    assert decode_spool(encode_spool(content)) == content


def test_the_form_is_the_contracts() -> None:
    content = SpoolContent(execution_id="e", execution_attempt_id="a", result=RESULTS[4])
    assert encode_spool(content) == (
        b'{"version":1,"executionId":"e","executionAttemptId":"a","result":'
        b'{"status":"cancelled","executionId":"e","workflowId":"w","reason":"why"}}'
    )


@pytest.mark.parametrize("length", range(len(ENCODED)))
def test_a_torn_spool_is_a_defect(length: int) -> None:
    assert isinstance(decode_spool(ENCODED[:length]), SpoolDefect)
    torn = ENCODED[:length] + b"\0" * (len(ENCODED) - length)
    assert isinstance(decode_spool(torn), SpoolDefect)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_defect(data: bytes) -> None:
    assert isinstance(decode_spool(data), SpoolDefect)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"version":1', b'"version":2'),
        (b'"version":1', b'"version":true'),
        (b'"version":1', b'"version":1,"more":1'),
        (b'"version":1,', b""),
        (b'"executionAttemptId":"a"', b'"executionAttemptId":""'),
        (b'"executionAttemptId":"a"', b'"executionAttemptId":1'),
        (b'"executionId":"e","executionA', b'"executionId":"other","executionA'),
        (b'"status":"completed"', b'"status":"done"'),
        (b'"workflowId":"w"', b'"workflowId":"w","workflowId":"w"'),
        (b'"workflowId":"w"', b'"workflowId":null'),
    ],
)
def test_a_foreign_spool_is_a_defect(old: bytes, new: bytes) -> None:
    assert old in ENCODED
    assert isinstance(decode_spool(ENCODED.replace(old, new, 1)), SpoolDefect)


def test_a_huge_or_deep_spool_is_a_defect() -> None:
    assert isinstance(decode_spool(b" " * (SPOOL_BYTES_MAX + 1)), SpoolDefect)
    assert isinstance(decode_spool(b"[" * 100_000), SpoolDefect)


def test_what_the_ledger_would_refuse_is_not_spooled() -> None:
    huge = FailedResult(execution_id="e", workflow_id="w", error="x" * RESULT_BYTES_MAX)
    empty = FailedResult(execution_id="e", workflow_id="w", error="")
    for result in (huge, empty):
        content = SpoolContent(execution_id="e", execution_attempt_id="a", result=result)
        with pytest.raises(InvalidInputError):
            encode_spool(content)


def test_the_deepest_result_that_the_ledger_takes_is_spooled() -> None:
    deep: JsonValue = []
    for _ in range(JSON_DEPTH_MAX - 3):
        deep = [deep]
    artifact: dict[str, JsonValue] = {"deep": deep}  # within a result: one level more
    result = CompletedResult(execution_id="e", workflow_id="w", artifact=artifact)
    encode_result(result, field="result", bytes_max=RESULT_BYTES_MAX)
    deeper = CompletedResult(execution_id="e", workflow_id="w", artifact={"a": artifact})
    with pytest.raises(InvalidInputError):
        encode_result(deeper, field="result", bytes_max=RESULT_BYTES_MAX)
    content = SpoolContent(execution_id="e", execution_attempt_id="a", result=result)
    assert decode_spool(encode_spool(content)) == content
