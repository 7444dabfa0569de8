"""Sample data that ships with the package, and the job that `demo` runs on it."""
