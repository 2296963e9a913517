"""One module per family of commands; each has its click object as `command` and is imported when it is used."""
