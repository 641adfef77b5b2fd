"""Decodes images, renders thumbnails, and compares images. Only picture workers import it."""
