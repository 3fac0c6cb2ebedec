"""What a fit or an evaluation found, as one structure, and its renderings: HTML, JSON and text."""
