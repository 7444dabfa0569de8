"""What the jobs wrote, as one page that needs no network."""
