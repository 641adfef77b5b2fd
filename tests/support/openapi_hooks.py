"""Schemathesis hooks: the first bytes of each image type, which the OpenAPI document cannot express."""

import schemathesis
from hypothesis import strategies as st

from support.service import JPEG, PNG, WEBP

for content_type, head in (("image/png", PNG), ("image/jpeg", JPEG), ("image/webp", WEBP)):
    schemathesis.openapi.media_type(content_type, st.binary(max_size=100).map(head.__add__))
