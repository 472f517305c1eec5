"""Compares authentication and authorization of Loadline's adapter with the real prometheus-adapter.

accounts_and_roles        the metrics, and accounts with different rights to them
clients                   every kind of client, valid or not
client_connection         sends a request with the client's certificate and headers
service_account_tokens    signs tokens, including invalid ones
"""
