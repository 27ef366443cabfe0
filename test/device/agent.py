"""As agent.mjs, in Python."""
import json
import sys
import urllib.parse

sys.path.insert(0, sys.argv[1])
from rollcall_device import Device

url, folder, max_bytes = sys.argv[2:]


def say(*words):
    print(*words, flush=True)


device = Device(
    url,
    "press 7",
    folder,
    int(max_bytes),
    rejected=lambda report, answer: say("rejected", report["status"]["error"]["message"], answer),
    interrupted=lambda reason: say("interrupted", reason or "null"),
)
say("open")
for line in sys.stdin:
    command = line.rstrip("\n")
    if command == "idle":
        device.idle()
        say("idle")
    elif command == "pending":
        say("pending", device.pending())
    else:
        deployment, _, body = command.partition(" ")
        try:
            say("queued", device.report({**json.loads(body), "deploymentId": urllib.parse.unquote(deployment)}))
        except Exception as error:
            say("refused", error)
device.close()
say("closed")
