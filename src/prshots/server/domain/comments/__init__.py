"""The comment on a pull request: markup, tables, layout, pictures, lines, fitting, views."""
