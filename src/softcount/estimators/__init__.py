"""The estimators: thin scikit-learn faces over the core."""
