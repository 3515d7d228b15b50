"""A web site of the tests' own, spoken to by https as any other; SSL_CERT_FILE makes a program trust it."""

import ssl
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

PEM = Path(__file__).with_suffix(".pem")
HOST = "127.0.0.1"


@contextmanager
def serve(handler, **state):
    """A running site whose `address` is its own; `state` is the handler's to look at."""
    with ThreadingHTTPServer((HOST, 0), handler) as site:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
        site.socket = context.wrap_socket(site.socket, server_side=True)
        site.address = f"https://{HOST}:{site.server_port}"
        vars(site).update(state)
        thread = Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
