"""Rows of a run file, read while anyone else may be writing it."""

import sqlite3


def query(file, sql):
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
