"""GET each path of kube-apiserver with the token of the pod; fail if one of them does not respond with 200."""

import json
import os
import ssl
import sys
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
with open(f"{ACCOUNT}/token") as file:
    token = file.read().strip()
trusted = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
for path in sys.argv[1:]:
    request = urllib.request.Request(server + path, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, context=trusted, timeout=20) as response:
            count = len(json.load(response)["resources"])
    except OSError as error:
        sys.exit(f"{path}: {error}. Run: kubectl get apiservice")
    print(f"{path}: {count} resources")
