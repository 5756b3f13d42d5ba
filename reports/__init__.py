"""Templates, styles and scripts of the HTML report. No code."""
