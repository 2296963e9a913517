"""The read path: plan, operators, topology, search and ranking."""
