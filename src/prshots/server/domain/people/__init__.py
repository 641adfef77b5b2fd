"""People: sign-in, organizations and what their members may do."""
