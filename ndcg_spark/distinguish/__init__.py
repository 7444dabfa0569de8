"""Which discount and cut-off tells rankers apart: growing samples of every query."""
