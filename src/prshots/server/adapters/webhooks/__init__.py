"""The servers that receive messages of webhooks, and the formats that they take."""
