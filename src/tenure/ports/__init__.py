"""Protocols and the values that cross them; nothing here does anything.

``repository`` is the contract's port, ``extension`` what we add to it, ``store`` what a storage has
to offer, ``provider`` what infrastructure has to offer, ``clock`` where time comes from.
"""
