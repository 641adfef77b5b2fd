"""Login providers and the issuers of ID tokens."""
