"""Kinds of infrastructure, one folder for each; none knows another."""
