"""Long drills against a running service: random kills, mutated requests, altered URLs."""
