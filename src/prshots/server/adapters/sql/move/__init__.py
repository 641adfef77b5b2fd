"""The database side of `prshots move`."""
