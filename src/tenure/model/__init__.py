"""The vocabulary: frozen values without I/O, clock or chance.

Start with ``attempt`` and ``operation`` (what is recorded), then ``decision`` (what is answered).
"""
