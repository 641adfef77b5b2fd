"""Decode images in separate processes with limits: an uploaded file may be built to exhaust a machine."""
