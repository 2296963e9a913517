"""Programs of their own, so that a test can pause, interrupt or kill them, and what finds their children."""
