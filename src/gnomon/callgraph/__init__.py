"""Call graphs of any profile: functions, calls between them, what these came to."""
