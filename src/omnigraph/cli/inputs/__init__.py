"""What a command reads: files, query texts, mappings, and the options that several commands share."""
