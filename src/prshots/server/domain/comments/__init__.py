"""The comment on a pull request: markup, tables, layout, fitting, views."""
