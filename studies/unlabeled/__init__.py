"""What rows without a label are worth: the tables and curves of docs/explanation/unlabeled-rows.md."""
