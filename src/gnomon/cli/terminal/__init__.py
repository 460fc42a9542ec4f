"""What the commands share: options, streams, files, text in columns, messages."""
