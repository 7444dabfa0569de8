"""Click logs: impressions in, mergeable daily state and estimates out; no action."""
