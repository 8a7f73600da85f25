"""stomp.py as a process: orders come as lines of JSON on standard input, what happens goes as such to standard output."""

import json
import sys
import threading
import time

import stomp

told = threading.Lock()


def tell(event, **more):
    with told:
        print(json.dumps({"event": event, **more}), flush=True)


class Teller(stomp.ConnectionListener):
    def __init__(self):
        self.order = None
        self.subscriptions = []
        self.leaving = False

    def on_connected(self, frame):
        # As stomp.py wants it: programs subscribe again themselves.
        for subscription in self.subscriptions:
            subscribe(subscription)
        tell("connected", headers=frame.headers)

    def on_message(self, frame):
        tell("message", headers=frame.headers, body=frame.body)

    def on_receipt(self, frame):
        tell("receipt", id=frame.headers["receipt-id"])

    def on_error(self, frame):
        tell("error", headers=frame.headers)

    def on_heartbeat(self):
        tell("beat")

    def on_heartbeat_timeout(self):
        tell("silent")

    def on_disconnected(self):
        tell("disconnected")
        if not self.leaving:
            threading.Thread(target=connect, daemon=True).start()


teller = Teller()
connection = None


def connect():
    """With a connection of its own each time: one that was lost may still be closing its socket."""
    global connection
    order = teller.order
    beats = (order["heartBeatMs"], order["heartBeatMs"])
    while True:
        connection = stomp.Connection12([("127.0.0.1", order["port"])], heartbeats=beats, reconnect_attempts_max=1)
        connection.set_listener("", teller)
        try:
            connection.connect(order["login"], order["passcode"], wait=False)
            return
        except stomp.exception.ConnectFailedException:
            time.sleep(0.1)


def subscribe(order):
    connection.subscribe("/topic/events", id=order["id"], ack=order["ack"], headers=dict(order["headers"]))


def obey(order):
    name = order["order"]
    if name == "connect":
        teller.order = order
        connect()
    elif name == "subscribe":
        teller.subscriptions.append(order)
        subscribe(order)
    elif name == "send":
        connection.send("/topic/events", order["body"], headers=dict(order["headers"]))
    elif name == "ack":
        connection.ack(order["message"]["ack"])
    elif name == "nack":
        connection.nack(order["message"]["ack"])
    elif name in ("begin", "commit", "abort"):
        getattr(connection, name)(order["transaction"])
    elif name == "disconnect":
        teller.leaving = True
        connection.disconnect(receipt="bye")


for line in sys.stdin:
    obey(json.loads(line))
