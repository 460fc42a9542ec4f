"""What `hpmcount` and `hpmstat` share: IBM's options, groups, files and aggregators."""
