"""The public names of `prshots.client`. They are imported on first use, so a wrong module would go unnoticed."""

import pytest

import prshots.client


@pytest.mark.parametrize("name", prshots.client.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(prshots.client, name) is not None


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        prshots.client.Nonsense  # noqa: B018 - only the attempt matters
