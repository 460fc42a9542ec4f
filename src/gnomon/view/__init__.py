"""The page in the browser: a server on loopback, and what it answers from run directories."""
