"""Live mode: a worker that runs code as it stands on a person's computer, sent along with its calls."""
