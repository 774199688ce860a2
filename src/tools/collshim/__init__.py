"""What collshim-tune, the scripts and the tests have in common. Standard library only."""
