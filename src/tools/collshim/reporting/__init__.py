"""What collshim-report is made of."""
