"""Runs against qrels: the plan, its kernel, summaries and the job."""
