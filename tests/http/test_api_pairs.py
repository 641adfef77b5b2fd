"""POST /v1/upload with a before image: the reply, each check, and that the pair is one image."""

import httpx
import pytest

from support.raw_requests import body_of, image_part, part, post_body, text_part, text_parts
from support.service import JPEG, MAX_BYTES, Service, png, upload

NOT_A_PNG = "declared image/png, but the file content is not a valid PNG"


def test_the_reply_has_the_urls_of_both(client: httpx.Client, shared_service: Service) -> None:
    before, after = JPEG + png(500), png()
    reply = upload(client, after, before=before, before_type="image/jpeg")
    assert reply.status_code == 200
    uploaded = reply.json()
    assert list(uploaded) == ["id", "view_url", "markdown", "before_url"]
    assert uploaded["markdown"] == f"![checkout/cart]({uploaded['view_url']})"
    assert uploaded["before_url"].startswith(f"{shared_service.img_url}/i/")
    for url, image, content_type in (
        (uploaded["view_url"], after, "image/png"),
        (uploaded["before_url"], before, "image/jpeg"),
    ):
        delivered = httpx.get(url)
        assert (delivered.content, delivered.headers["content-type"]) == (image, content_type)


@pytest.mark.parametrize(
    ("before", "content_type", "status", "message"),
    [
        (png(MAX_BYTES), "image/png", 413, "before: payload too large (max 5MB)"),
        (png(), "image/gif", 415, "before: unsupported content-type (png/jpeg/webp)"),
        (JPEG, "image/png", 415, f"before: {NOT_A_PNG}"),
        (b"", "image/png", 415, f"before: {NOT_A_PNG}"),
    ],
    ids=["too large", "another type", "another format", "empty"],
)
def test_bad_before_image_is_refused_with_the_image(
    client: httpx.Client, before: bytes, content_type: str, status: int, message: str
) -> None:
    reply = upload(client, before=before, before_type=content_type)
    assert (reply.status_code, reply.json()) == (status, {"error": message})


def test_the_image_is_checked_first(client: httpx.Client) -> None:
    assert upload(client, JPEG, before=b"").json() == {"error": NOT_A_PNG}
    assert upload(client, png(MAX_BYTES), before=b"").json() == {"error": "payload too large (max 5MB)"}
    assert upload(client, before=b"", name="").json() == {"error": "name required"}


def test_two_images_just_below_the_limit_fit(client: httpx.Client) -> None:
    assert upload(client, png(MAX_BYTES - 1), before=png(MAX_BYTES - 1)).status_code == 200


BEFORE = 'form-data; name="before"; filename="before.png"'
A_BEFORE = part(BEFORE, png(), "Content-Type: image/png")


@pytest.mark.parametrize(
    ("images", "status", "message"),
    [
        ([A_BEFORE], 400, "image file required"),
        ([image_part(), A_BEFORE, A_BEFORE], 400, "invalid multipart/form-data body"),
        (
            [image_part(), text_part("before", "a.png")],
            415,
            "before: unsupported content-type (png/jpeg/webp)",
        ),
    ],
    ids=["no image", "two before images", "a path"],
)
def test_form_must_have_one_image_and_at_most_one_before_image(
    shared_service: Service, token: str, images: list[bytes], status: int, message: str
) -> None:
    reply = post_body(shared_service, token, body_of([*images, *text_parts()]))
    assert (reply.status, reply.error) == (status, message)


@pytest.mark.parametrize(
    "nothing", [text_part("before", ""), part('form-data; name="before"; filename=""', b"")]
)
def test_empty_before_field_is_ignored(shared_service: Service, token: str, nothing: bytes) -> None:
    reply = post_body(shared_service, token, body_of([image_part(), nothing, *text_parts()]))
    assert reply.status == 200
    assert b"before_url" not in reply.body


def test_baseline_ignores_a_before_image(client: httpx.Client) -> None:
    image = png()
    reply = upload(client, image, before=b"as every unknown field", path="/v1/baseline", branch="main").json()
    assert list(reply) == ["id", "view_url", "markdown"]
    assert reply["markdown"] == f"![checkout/cart]({reply['view_url']})"
    assert httpx.get(reply["view_url"]).content == image
