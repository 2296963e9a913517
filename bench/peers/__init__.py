"""Peers of the traversal benchmark: the same data and the same questions, each engine in a process of its own."""
