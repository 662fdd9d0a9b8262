"""The law: the one place where a transition is decided. Start with ``machine``.

``state`` says what a decision may look at and change, ``machine`` dispatches, one module for each
family of transitions holds the rules, ``invariants`` says what must hold in every state.
"""
