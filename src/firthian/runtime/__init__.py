"""Run context, executors (threads or Ray), memory, cost, progress."""
