"""Lists of events, groups, presets and hardware, as text that fits the terminal."""
