"""Kinds of infrastructure, one folder for each; none knows another.

``local`` is no kind but a library of those that work on this machine.
"""
