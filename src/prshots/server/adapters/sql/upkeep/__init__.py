"""What the upkeep asks about the whole database."""
