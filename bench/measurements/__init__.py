"""One module per measurement. Each has `measure(run)`, which yields the rows of the table."""
