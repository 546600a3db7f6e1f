"""Live mode: a worker that runs the current code of a user's computer, which is sent with each call."""
