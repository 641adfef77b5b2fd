"""Replace deleted screenshots in a pull request's description, where agents and people paste them."""

import re
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from html import unescape
from itertools import compress

import httpx

from prshots.contract.errors import PrshotsError
from prshots.contract.statements import message
from prshots.forges import Forge

MAX_IMAGES = 50
"""How many addresses to request. Others stay as they are."""

CONCURRENT_QUESTIONS = 8
TIMEOUT_SECONDS = 2.0

_FENCED = r"^[ \t>]*(`{3,}(?![^\n]*`)|~{3,})[^\n]*(?:\n(?![ \t>]*\1)[^\n]*)*(?:\n[^\n]*)?"
_INLINE_CODE = r"(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))*?(?<!`)\2(?!`)"
_PATH = r"/i/[0-9a-f]{32}\.[a-z0-9.]+\?exp=[0-9]+&(?:amp;)?token=[A-Za-z0-9_.-]+"
_ADDRESS = rf"""(https?://[^\s()<>"'\[\]]*{_PATH})"""
_MARKDOWN = rf"""!\[(?:\\.|\[[^\[\]\n]*\]|[^\[\]\\\n])*\]\(<?{_ADDRESS}>?(?: +"[^"\n]*")?\)"""
_HTML = rf"""<img\b[^<>]*\ssrc\s*=\s*["']{_ADDRESS}["'][^<>]*>"""
_LINKED = rf"\[{_MARKDOWN}\]\([^()\n]*\)|<a\b[^<>]*>\s*{_HTML}\s*</a>"
_PARTS = re.compile(f"{_FENCED}|{_INLINE_CODE}|{_LINKED}|{_MARKDOWN}|{_HTML}", re.MULTILINE)
"""Code, which shows no images, or an image with its link. The last group of an image is its address."""


def find_images(text: str) -> list[str]:
    """Return the addresses that look like images of a prshots service."""
    found = (_address_in(part) for part in _PARTS.finditer(text))
    return list(dict.fromkeys(address for address in found if "://" in address))


def replace_images(text: str, deleted: Collection[str]) -> str:
    """Return the text with words in place of these images and the links around them."""
    words = message("screenshot_deleted")
    return _PARTS.sub(lambda part: words if _address_in(part) in deleted else part[0], text)


def clean_description(forge: Forge, pr_number: int) -> tuple[int, str]:
    """Replace deleted images. Return how many, and why it couldn't."""
    try:
        if not (deleted := _find_deleted(find_images(forge.description(pr_number))[:MAX_IMAGES])):
            return 0, ""
        text = forge.description(pr_number)  # again: somebody may have changed it
        if (cleaned := replace_images(text, deleted)) != text:
            forge.set_description(pr_number, cleaned)
    except PrshotsError as error:
        return 0, str(error)
    return len(deleted), ""


def _find_deleted(addresses: Collection[str]) -> set[str]:
    """Request each address, without a token: only the service knows which images became baselines."""

    def is_deleted(address: str) -> bool:
        with suppress(httpx.HTTPError, httpx.InvalidURL):
            return client.head(unescape(address)).status_code == httpx.codes.GONE
        return False

    with httpx.Client(timeout=TIMEOUT_SECONDS) as client, ThreadPoolExecutor(CONCURRENT_QUESTIONS) as threads:
        return set(compress(addresses, threads.map(is_deleted, addresses)))


def _address_in(part: re.Match[str]) -> str:
    return part[part.lastindex or 0]
