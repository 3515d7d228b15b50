"""Places and the analytic classifier A_t that ranks them: recursive ridge with its U, G and H extensions."""
