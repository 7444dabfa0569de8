"""The jobs: read, plan, check, write. Beside tables/ the only Spark actions."""
