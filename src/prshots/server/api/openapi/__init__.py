"""The OpenAPI document, and the page at /docs that is generated from it."""
