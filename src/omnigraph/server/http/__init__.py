"""HTTP: requests as they come in, replies as they go out, and which operation a path means."""
