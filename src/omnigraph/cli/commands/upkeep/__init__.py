"""Commands that look after a graph: one module per family."""
