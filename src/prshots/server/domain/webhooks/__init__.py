"""Webhooks: what happens in an organization, sent to the addresses that its owners name."""
