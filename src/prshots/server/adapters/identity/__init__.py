"""Login providers and issuers of ID tokens."""
