"""Code shared by the tests: the real service and engines, clients, and forge look-alikes."""
