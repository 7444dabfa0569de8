"""Sessions, the options that every job has, running a job, and the text that it prints."""
