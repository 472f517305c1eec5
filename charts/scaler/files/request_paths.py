"""GET each path of kube-apiserver with the token of the pod; fail if one of them does not respond with 200.

No redirect is followed, since the token is for kube-apiserver only.
"""

import http.client
import json
import os
import ssl
import sys

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
with open(f"{ACCOUNT}/token") as file:
    token = file.read().strip()
trusted = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
for path in sys.argv[1:]:
    try:
        server = http.client.HTTPSConnection(host, int(port), context=trusted, timeout=20)
        server.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        response = server.getresponse()
        if response.status != 200:
            raise OSError(f"status {response.status} {response.reason}")
        count = len(json.load(response)["resources"])
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"{path}: {error}. Run: kubectl get apiservice")
    print(f"{path}: {count} resources")
