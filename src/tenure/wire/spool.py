"""The spool: an outcome on a worker's disk, on its way to the ledger.

A worker writes it whole before it tries to deliver, and removes it when the ledger has answered.
Whoever finds one may deliver it. What is not exactly of this form is never trusted, and reading it
is not an error but an answer: a defect.
"""

from typing import Final

import msgspec

from tenure.errors import InvalidInputError
from tenure.model.identifier import check_identifier
from tenure.model.json_value import (
    ENVELOPE_DEPTH_MAX,
    JSON_DEPTH_MAX,
    decode_json,
    encode_json,
)
from tenure.model.result import (
    RESULT_BYTES_MAX,
    WorkflowRunResult,
    encode_result,
    result_from_json,
    result_to_json,
)

SPOOL_VERSION: Final = 1
SPOOL_BYTES_MAX: Final = RESULT_BYTES_MAX + 16 * 1024
"""Largest spool, in bytes: the largest result and its envelope."""

_MEMBERS: Final = frozenset({"version", "executionId", "executionAttemptId", "result"})


class SpoolContent(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome and whose it is."""

    execution_id: str
    execution_attempt_id: str
    result: WorkflowRunResult
    """Names the same execution."""


class SpoolDefect(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes are no spool: torn, foreign, or of another version."""

    seen: str
    """What is wrong with them; bounded, one line, without their content."""


def encode_spool(content: SpoolContent) -> bytes:
    """Check an outcome and encode it.

    Raises:
        InvalidInputError: the ledger could never accept it.
    """
    encode_result(content.result, field="result", bytes_max=RESULT_BYTES_MAX)
    members = {
        "version": SPOOL_VERSION,
        "executionId": check_identifier(content.execution_id, field="executionId"),
        "executionAttemptId": check_identifier(
            content.execution_attempt_id, field="executionAttemptId"
        ),
        "result": result_to_json(content.result),
    }
    depth_max = JSON_DEPTH_MAX + ENVELOPE_DEPTH_MAX
    text = encode_json(members, field="spool", bytes_max=SPOOL_BYTES_MAX, depth_max=depth_max)
    return text.encode()


def decode_spool(data: bytes) -> SpoolContent | SpoolDefect:
    """Read what `encode_spool` wrote; anything else is a defect. Never raises."""
    if len(data) > SPOOL_BYTES_MAX:
        return SpoolDefect(seen=f"larger than {SPOOL_BYTES_MAX} bytes")
    try:
        return _content(decode_json(data.decode()))
    except InvalidInputError as exc:
        return SpoolDefect(seen=f"invalid {exc.field}")
    except (ValueError, RecursionError):
        return SpoolDefect(seen="not the strict JSON of a spool")


def _content(value: object) -> SpoolContent | SpoolDefect:
    if not isinstance(value, dict) or value.keys() != _MEMBERS:
        return SpoolDefect(seen="not an object of exactly " + ", ".join(sorted(_MEMBERS)))
    if type(value["version"]) is not int or value["version"] != SPOOL_VERSION:
        return SpoolDefect(seen=f"of another version than {SPOOL_VERSION}")
    content = SpoolContent(
        execution_id=check_identifier(value["executionId"], field="executionId"),
        execution_attempt_id=check_identifier(
            value["executionAttemptId"], field="executionAttemptId"
        ),
        result=result_from_json(value["result"], field="result"),
    )
    if content.result.execution_id != content.execution_id:
        return SpoolDefect(seen="its result names another execution")
    return content
