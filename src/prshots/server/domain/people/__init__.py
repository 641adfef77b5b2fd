"""People: sign-in, organizations, and permissions of members."""
