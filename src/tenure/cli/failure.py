"""Finding the error that counts among those that tasks raise together."""

from tenure.errors import TenureError


def first_error(exc: BaseException) -> BaseException:
    """Find the error in groups of one; of several, the first of ours."""
    leaves: list[BaseException] = []
    waiting = [exc]
    while waiting:
        seen = waiting.pop(0)
        if isinstance(seen, BaseExceptionGroup):
            waiting.extend(seen.exceptions)
        else:
            leaves.append(seen)
    ours = [leaf for leaf in leaves if isinstance(leaf, TenureError)]
    return (ours or leaves)[0]
