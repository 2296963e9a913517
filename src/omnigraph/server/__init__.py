"""The HTTP server: every operation of `Graph` over HTTP, with authentication, policies and limits."""
