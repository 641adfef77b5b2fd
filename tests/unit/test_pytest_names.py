"""The names that the pytest plugin gives to a test's screenshots."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from prshots.pytest_plugin.camera import viewport_of
from prshots.pytest_plugin.shot_names import ShotNames, check_template


def item_of(nodeid: str, parameters: str = "", *, browser: str = "", browsers: object = None) -> pytest.Item:
    """Return a test as pytest-playwright parametrizes it, with the option `--browser`."""
    call = SimpleNamespace(id=parameters, params={"browser_name": browser} if browser else {})
    config = SimpleNamespace(getoption=lambda _name, default: default if browsers is None else browsers)
    item: dict[str, Any] = {"nodeid": nodeid + (f"[{parameters}]" if parameters else ""), "config": config}
    return cast("pytest.Item", SimpleNamespace(**item, **({"callspec": call} if parameters else {})))


@pytest.mark.parametrize(
    ("nodeid", "parameters", "name"),
    [
        ("tests/ui/test_shop.py::TestCart::test_empty", "small", "ui/test_shop/TestCart/test_empty (small)"),
        ("test_shop.py::TestA::TestB::test_empty", "", "test_shop/TestA/TestB/test_empty"),
        ("app/[id]/test_page.py::test_empty", "", "app/[id]/test_page/test_empty"),
        ("app/[id]/test_page.py::test_empty", "a[0]-b", "app/[id]/test_page/test_empty (a[0]-b)"),
        (
            "test_shop.py::test_path",
            "/cart/empty",
            "test_shop/test_path (\N{DIVISION SLASH}cart\N{DIVISION SLASH}empty)",
        ),
        ("test_shop.py::test_text", "two\\n  lines", "test_shop/test_text (two lines)"),
        ("test_shop.py::test_text", "gr\\xfc\\xdfe", "test_shop/test_text (grüße)"),
        ("test_shop.py::test_text", "C:\\\\new", "test_shop/test_text (C:\\new)"),
        ("test_shop.py::test_text", "größe\\n", "test_shop/test_text (größe\\n)"),
        ("README.md", "", "README.md"),
    ],
)
def test_a_name_is_made_of_the_tests_id(nodeid: str, parameters: str, name: str) -> None:
    assert ShotNames.of(item_of(nodeid, parameters)) == ShotNames(name)


@pytest.mark.parametrize(
    ("parameters", "browser", "browsers", "name"),
    [
        ("chromium", "chromium", None, "a/test"),
        ("chromium", "chromium", [], "a/test"),
        ("chromium-small", "chromium", ["chromium"], "a/test (small)"),
        ("small-chromium", "chromium", ["chromium"], "a/test (small)"),
        ("small-firefox-dark", "firefox", ["firefox"], "a/test (small-dark)"),
        ("chromium-firefox", "firefox", ["chromium", "firefox"], "a/test (chromium) (firefox)"),
        ("chromium", "chromium", ["chromium", "firefox"], "a/test"),
        ("firefox", "firefox", ["chromium", "firefox"], "a/test (firefox)"),
        ("opera", "opera", ["chromium"], "a/test (opera)"),
        ("firefox", "firefox", "remote", "a/test (firefox)"),
    ],
)
def test_only_a_later_browser_is_in_a_name(
    parameters: str, browser: str, browsers: object, name: str
) -> None:
    item = item_of("a.py::test", parameters, browser=browser, browsers=browsers)
    assert ShotNames.of(item).nth(1) == name


def test_a_template_makes_names() -> None:
    item = item_of("a.py::TestB::test", "firefox-big", browser="firefox", browsers=["chromium", "firefox"])
    by = {
        "{test}": "test (firefox)",
        "{browser}/{file}/{test} ({parameters})": "firefox/a/test (big)",
        "{class}: {test} ({parameters}, {browser})": "TestB: test (big, firefox)",
        "{file}//": "a (firefox)",
    }
    assert {template: ShotNames.of(item, template).nth(1) for template in by} == by
    assert ShotNames.of(item, "{test}").nth(2) == "test-2 (firefox)"
    assert ShotNames.of(item_of("a.py::test"), "{test} ({parameters}, {browser})").unnamed == "test"
    with pytest.raises(pytest.UsageError, match=r"prshots_name takes .*\{browser\}; got '\{project\}'"):
        check_template("{file}/{project}")


def test_an_objects_viewport_is_that_of_a_playwright_page() -> None:
    assert viewport_of(SimpleNamespace(viewport_size={"width": 390, "height": 844})) == "390x844"
    for other in (None, object(), SimpleNamespace(viewport_size=None), SimpleNamespace(viewport_size=(1, 2))):
        assert viewport_of(other) == ""
