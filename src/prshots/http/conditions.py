"""Conditional requests: whether a client has already what it asks for."""

import re

_TAG = re.compile(r'(?:W/)?"([^"]*)"')


def names_tag(if_none_match: str, tag: str) -> bool:
    """Tell whether the header names this tag, given without its quotes."""
    return if_none_match == "*" or tag in _TAG.findall(if_none_match)
