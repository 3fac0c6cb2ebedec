"""What the rows of an estimator are: one file for each kind of table, shared by naive Bayes and mixtures."""
