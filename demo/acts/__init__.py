"""The acts of the demo, one module each. The list in `demo/__main__.py` sets their order."""
