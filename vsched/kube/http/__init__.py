"""Writes to the API server over a few kept connections: a small HTTP/1.1 client, for many small requests.

A general library spends several times as much processor time on each. There are no redirects, cookies, compression and
proxies here. What is read may be torn, late or wrong: that ends in an error and a closed connection.
"""
