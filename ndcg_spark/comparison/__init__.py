"""Did it get better? Systems, or arms of an experiment, compared."""
