"""Decodes images in separate processes with limits: an uploaded file may be built to use up a machine."""
