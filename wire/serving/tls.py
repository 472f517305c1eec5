"""TLS of the listener: the serving certificate and the client CAs, both replaced while serving.

A client certificate is requested and optional. OpenSSL verifies it against every CA that was trusted
since the start; the authenticator verifies it again, against the current bundles. So a certificate of
a CA that was removed is refused although its handshake succeeds. A certificate of a CA that was never
trusted ends the handshake, where Go's server would respond with 401.
"""

import logging
import os
import ssl
from collections.abc import Iterable

from wire.process.followed_file import FollowedFile, generations
from wire.process.problem_log import ProblemLog
from wire.serving.certificates import Pair, kept_pair, own_names, self_signed
from wire.serving.options import ServingConfigError, ServingOptions

log = logging.getLogger(__name__)

_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
# Cipher suites of TLS 1.2 and below, by Go's and OpenSSL's names. Those of 1.3 are always enabled in both.
_SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    # Go calls these insecure and accepts them. OpenSSL leaves out those that it was built without.
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA": "ECDHE-ECDSA-RC4-SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA": "ECDHE-RSA-DES-CBC3-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA": "ECDHE-RSA-RC4-SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_RC4_128_SHA": "RC4-SHA",
}
_SUITES_1_3 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}


class ServerTLS:
    """One SSLContext for the life of the listener; new connections use what was loaded into it last."""

    def __init__(self, options: ServingOptions) -> None:
        """Raises `ServingConfigError`."""
        self.context = _context(options)
        self._files = _pair_files(options)
        self._loaded: tuple[int, ...] = ()
        self._client_cas: set[bytes] = set()
        self._problem = ProblemLog(
            log,
            failing="the new certificate cannot be loaded; still serving the previous one",
            recovered="the certificate can be loaded again",
        )
        self.certificate = b""
        """What is served to new connections, with its chain (PEM)."""
        if self._files is None:
            self.serve(self_signed(own_names()))
            return
        try:
            self._load_pair(self._files)
        except OSError as error:
            certificate, key = (file.path for file in self._files)
            raise ServingConfigError(
                f"cannot serve with {certificate} and {key}: {error.strerror or error}. "
                "Check --tls-cert-file and --tls-private-key-file"
            ) from error

    def trust_clients_of(self, bundles: Iterable[bytes]) -> None:
        """Accept client certificates of these CAs (PEM) from now on. Until there is a CA, no client
        certificate is requested, because every one would fail the handshake.
        """
        for pem in bundles:
            if pem not in self._client_cas:
                self._client_cas.add(pem)
                self._trust(pem)
        if self._client_cas:
            self.context.verify_mode = ssl.CERT_OPTIONAL

    def _trust(self, pem: bytes) -> None:
        try:
            self.context.load_verify_locations(cadata=pem.decode("ascii"))
        except ssl.SSLError as error:
            log.warning("OpenSSL cannot use a client CA, so its certificates fail: %s", error)

    def reload_if_changed(self) -> bool:
        """Load the pair again if its files have changed; True if a new one is served.

        While it cannot be read, or only one of the two files is new, the old pair is served.
        """
        if self._files is None:
            return False
        try:
            if generations(*self._files) == self._loaded:
                return False
            self._load_pair(self._files)
        except OSError as error:
            self._problem.set(str(error))
            return False
        self._problem.set(None)
        log.info("serving the new certificate %s", self._files[0].path)
        return True

    def serve(self, pair: Pair) -> None:
        """Serve this pair to new connections. Its key must be that of its certificate."""
        _load_from_memory(self.context, pair)
        self.certificate = pair.certificate

    def _load_pair(self, files: tuple[FollowedFile, FollowedFile]) -> None:
        found = generations(*files)
        certificate, key = (file.path for file in files)
        # On a trial context first: a key that does not match would leave the serving context without one.
        trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trial.load_cert_chain(certificate, key, password=_no_password)
        self.context.load_cert_chain(certificate, key, password=_no_password)
        self._loaded = found
        self.certificate = files[0].read()


def _context(options: ServingOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[options.tls_min_version]
    context.set_alpn_protocols(["http/1.1"])
    # As in Go, every certificate of a bundle is a trust anchor, also one that is not self-signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    # A resumed session would lack the client's intermediates, so sessions are not resumed.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    unknown = set(options.tls_cipher_suites) - _SUITES.keys() - _SUITES_1_3
    if unknown:
        raise ServingConfigError(
            f"--tls-cipher-suites: {', '.join(sorted(unknown))} not supported. "
            f"Supported: {', '.join(sorted(_SUITES.keys() | _SUITES_1_3))}"
        )
    chosen = [_SUITES[name] for name in options.tls_cipher_suites if name in _SUITES]
    if chosen:
        _set_suites(context, chosen)
    return context


def _set_suites(context: ssl.SSLContext, suites: list[str]) -> None:
    try:
        context.set_ciphers(":".join(suites))
    except ssl.SSLError as error:
        raise ServingConfigError(
            f"--tls-cipher-suites: {ssl.OPENSSL_VERSION} has none of {', '.join(suites)}. Add "
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, or delete the flag"
        ) from error


def _pair_files(options: ServingOptions) -> tuple[FollowedFile, FollowedFile] | None:
    """The files to serve; None: a self-signed pair in memory."""
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    if (certificate is None) != (key is None):
        raise ServingConfigError("--tls-cert-file and --tls-private-key-file must be set together")
    if certificate is not None and key is not None:
        return FollowedFile(certificate), FollowedFile(key)
    if options.cert_dir is None:
        return None
    try:
        certificate, key = kept_pair(options.cert_dir)
        return FollowedFile(certificate), FollowedFile(key)
    except OSError as error:
        log.warning(
            "cannot write to --cert-dir %s (%s): keeping the certificate in memory",
            options.cert_dir,
            error.strerror,
        )
        return None


def _load_from_memory(context: ssl.SSLContext, pair: Pair) -> None:
    """Python's OpenSSL reads only files; this one is never written to a disk."""
    descriptor = os.memfd_create("loadline-tls")
    try:
        os.write(descriptor, pair.certificate + pair.key)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _no_password() -> str:
    """Without it, OpenSSL would prompt for the pass phrase of an encrypted key on the terminal."""
    raise ssl.SSLError("the private key is encrypted: use one without a pass phrase")
