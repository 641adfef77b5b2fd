"""Decode images, render thumbnails, and compare images. Only picture workers import this."""
