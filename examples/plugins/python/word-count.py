#!/usr/bin/env python3
"""Counts the words of a text. A plugin of the default contract: it is given the path of a task file, and answers in a
response file beside it.

agent.yaml:
  tasks:
    plugins:
      word-count: { program: /opt/plugins/word-count.py }

Exits with 0 also when the task has failed: that is what `status` in the response is for.
"""

import argparse
import json
import os


def progress(percent, text):
    """Shown live. The descriptor is there when Muster runs this."""
    descriptor = os.environ.get("MUSTER_PROGRESS_FD")
    if descriptor is not None:
        os.write(int(descriptor), f"::progress {percent} {text}\n".encode())


def count(params):
    text = params.get("text")
    if not isinstance(text, str):
        return {"status": 2, "stderr": "params.text must be a text"}
    progress(50, "counting")
    words = text.split()
    return {"status": 1, "stdout": f"{len(words)} words, {len(set(words))} different ones\n"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", help="what a plugin of Disbatch reads; not needed here")
    parser.add_argument("--task", required=True)
    file = parser.parse_args().task
    with open(file, encoding="utf-8") as task_file:
        task = json.load(task_file)
    response = count(task["params"])
    with open(file.removesuffix(".json") + "-response.json", "w", encoding="utf-8") as response_file:
        json.dump(response, response_file)


if __name__ == "__main__":
    main()
