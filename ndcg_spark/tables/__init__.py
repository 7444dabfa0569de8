"""What a table is: contracts, reading, checks, writing."""
