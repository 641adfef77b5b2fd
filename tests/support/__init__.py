"""What the tests share: the real service and servers, clients, and look-alikes of the forges."""
