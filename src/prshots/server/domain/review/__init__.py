"""Decisions about changes, and the gate that follows from them."""
