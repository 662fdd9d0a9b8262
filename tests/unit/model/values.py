"""What the model's tests share: JSON values by the thousand, and nesting of an exact depth."""

from hypothesis import strategies as st

from tenure.model.json_value import JsonObject, JsonValue

JSON_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON_NUMBERS = (
    st.integers()
    | st.integers(min_value=2**52, max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 1, -1, 0.0, -0.0, 1.0, 2**53, 2**53 + 1, 2.0**53, 1e22, 10**22])
)
JSON_SCALARS = st.none() | st.booleans() | JSON_NUMBERS | JSON_TEXTS
JSON_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    JSON_SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(JSON_TEXTS, inner, max_size=4),
    max_leaves=12,
)
JSON_OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(JSON_TEXTS, JSON_VALUES, max_size=4)


def nested(depth: int) -> JsonObject:
    """Make an object that nests exactly ``depth`` levels; at least one."""
    value: JsonObject = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def nested_list(depth: int) -> list[object]:
    """Make an array that nests exactly ``depth`` levels; at least one."""
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value
