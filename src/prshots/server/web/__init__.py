"""The web component: the dashboard's files, and a relay to the API."""
