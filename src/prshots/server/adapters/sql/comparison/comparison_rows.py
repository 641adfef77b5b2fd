"""Rows of comparisons that other transactions remove along with images and pull requests."""

from sqlalchemy import Connection, delete

from prshots.server.adapters.sql.database.schema import compared_shots, comparisons


def remove_comparisons(connection: Connection, project_id: str, pr_number: int) -> None:
    for table in (compared_shots, comparisons):
        connection.execute(
            delete(table).where(table.c.project_id == project_id, table.c.pr_number == pr_number)
        )
