"""Rewrites Parquet files through DuckDB's C library, the one that the program loads."""
import ctypes
import pathlib
import unittest

from program import ROOT

_PLACES = [ROOT / ".deps/duckdb/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so"]


def _library():
    for path in _PLACES:
        if path.exists():
            return ctypes.CDLL(str(path))
    raise unittest.SkipTest("DuckDB's library is not on this machine")


def query(sql):
    """Runs one statement in a database of its own."""
    duckdb = _library()
    database, connection, result = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(512)
    duckdb.duckdb_result_error.restype = ctypes.c_char_p
    if duckdb.duckdb_open(None, ctypes.byref(database)) or duckdb.duckdb_connect(database, ctypes.byref(connection)):
        raise AssertionError("DuckDB does not open")
    failed = duckdb.duckdb_query(connection, sql.encode(), result)
    error = duckdb.duckdb_result_error(result) if failed else None
    duckdb.duckdb_destroy_result(result)
    duckdb.duckdb_disconnect(ctypes.byref(connection))
    duckdb.duckdb_close(ctypes.byref(database))
    if failed:
        raise AssertionError(f"{sql}: {error}")


def rewrite(source: pathlib.Path, target: pathlib.Path, columns: str, where="true"):
    """`columns` as in `SELECT * REPLACE (...)`."""
    replace = f" REPLACE ({columns})" if columns else ""
    query(f"COPY (SELECT *{replace} FROM read_parquet('{source}') WHERE {where}) TO '{target}' (FORMAT PARQUET)")
    return target
