"""What the user gave, checked and turned into arrays."""
