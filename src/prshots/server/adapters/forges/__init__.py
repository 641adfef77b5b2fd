"""The forges that projects are connected to."""
