"""Projects: settings, upload tokens, trusts."""
