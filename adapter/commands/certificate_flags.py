"""The `--managed-certificate-*` flags: a certificate that the adapter creates, renews and lets kube-apiserver verify."""

import argparse
from typing import Final

from adapter.certificates.managed_certificate import ManagedCertificateOptions
from wire.process.command_line.parsing import FlagParser

SECRET: Final = "--managed-certificate-secret"  # noqa: S105 - the name of a flag
SERVICE: Final = "--managed-certificate-service"
NAME: Final = "NAMESPACE/NAME"


def add_certificate_flags(parser: FlagParser) -> None:
    """Declare the flags."""
    flags = parser.group("managed certificate")
    flags.add_argument(
        SECRET,
        type=_namespaced,
        default=None,
        metavar=NAME,
        help="existing Secret in which the replicas share a self-signed certificate; they renew it, "
        "in place of --tls-cert-file",
    )
    flags.add_argument(
        SERVICE,
        type=_namespaced,
        default=None,
        metavar=NAME,
        help="Service through which kube-apiserver reaches the adapter; the certificate is valid for its name",
    )
    flags.add_list(
        "--managed-certificate-api-services",
        help="APIServices of that Service, such as v1beta1.external.metrics.k8s.io, whose caBundle the adapter writes",
    )


def certificate_options(
    parser: FlagParser, given: argparse.Namespace
) -> ManagedCertificateOptions | None:
    """The parsed flags; None if they are not used. Ends the program if they contradict each other."""
    secret, service = given.managed_certificate_secret, given.managed_certificate_service
    if secret is None and service is None:
        return None
    if secret is None or service is None:
        parser.error(f"{SECRET} and {SERVICE} must be set together")
    if given.tls_cert_file is not None:
        parser.error(f"{SECRET} and --tls-cert-file cannot be used together: delete one of them")
    return ManagedCertificateOptions(
        secret=secret, service=service, api_services=given.managed_certificate_api_services
    )


def _namespaced(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a namespace and a name, such as monitoring/adapter"
        )
    return namespace, name
