"""Studies: experiments that the documentation's tables and figures come from."""
