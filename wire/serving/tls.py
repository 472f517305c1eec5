"""The TLS side of the listener: our certificate and the CAs of clients, both replaced while serving.

Clients are asked for a certificate and need not have one. OpenSSL checks it against all CAs ever
given; who the holder is, and whether that CA still counts, is the authenticator's matter, which
judges by the newest bundles. So a CA that was removed opens no door although a handshake succeeds.
A certificate of a CA that was never known ends the handshake, where Go's server would answer 401.
"""

import logging
import os
import ssl
from collections.abc import Iterable

from wire.followed_file import FollowedFile, generations
from wire.serving.certificates import Pair, kept_pair, own_names, self_signed
from wire.serving.options import ServingOptions

log = logging.getLogger(__name__)

_VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
# Go's names of the suites of TLS 1.2 and below, and OpenSSL's. Those of 1.3 are always on in both.
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
}
_SUITES_1_3 = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}


class ServingConfigError(Exception):
    """The listener cannot be set up as the flags say; the message names the flag and the fix."""


class ServerTLS:
    """One SSLContext for the life of the listener; new connections see what was put into it last."""

    def __init__(self, options: ServingOptions) -> None:
        """Raises `ServingConfigError`."""
        self.context = _context(options)
        self._files = _pair_files(options)
        self._loaded: tuple[int, ...] = ()
        self._client_cas: set[bytes] = set()
        self._last_error = ""
        if self._files is None:
            _load_from_memory(self.context, self_signed(own_names()))
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
        """Accept certificates of these CAs (PEM) from now on. Until there is one, none is asked for:
        a client that shows one unasked-for could only be turned away.
        """
        for pem in bundles:
            if pem not in self._client_cas:
                self.context.load_verify_locations(cadata=pem.decode("ascii", "ignore"))
                self._client_cas.add(pem)
        if self._client_cas:
            self.context.verify_mode = ssl.CERT_OPTIONAL

    def reload_if_changed(self) -> bool:
        """Read the pair again when its files have changed; True when a new one is served.

        A pair that cannot be read, or of which only one half is new yet, keeps the old one serving.
        """
        if self._files is None:
            return False
        try:
            if generations(*self._files) == self._loaded:
                return False
            self._load_pair(self._files)
        except OSError as error:
            if str(error) != self._last_error:
                log.warning("the new certificate in %s is not used: %s", self._files[0].path, error)
            self._last_error = str(error)
            return False
        self._last_error = ""
        log.info("serving with the new certificate in %s", self._files[0].path)
        return True

    def _load_pair(self, files: tuple[FollowedFile, FollowedFile]) -> None:
        found = generations(*files)
        certificate, key = (file.path for file in files)
        # A trial first: a key that does not fit would leave the serving context without one.
        trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trial.load_cert_chain(certificate, key, password=_no_password)
        self.context.load_cert_chain(certificate, key, password=_no_password)
        self._loaded = found


def _context(options: ServingOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[options.tls_min_version]
    context.set_alpn_protocols(["http/1.1"])
    # A resumed session would come without the client's intermediates, so none is resumed.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    unknown = set(options.tls_cipher_suites) - _SUITES.keys() - _SUITES_1_3
    if unknown:
        raise ServingConfigError(
            f"--tls-cipher-suites: {', '.join(sorted(unknown))} not supported or does not exist. "
            f"Possible: {', '.join(sorted(_SUITES.keys() | _SUITES_1_3))}"
        )
    chosen = [_SUITES[name] for name in options.tls_cipher_suites if name in _SUITES]
    if chosen:
        context.set_ciphers(":".join(chosen))
    return context


def _pair_files(options: ServingOptions) -> tuple[FollowedFile, FollowedFile] | None:
    """The files to serve from; None: keep a self-signed pair in memory."""
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    if (certificate is None) != (key is None):
        raise ServingConfigError(
            "--tls-cert-file and --tls-private-key-file go together: give both or none"
        )
    if certificate is not None and key is not None:
        return FollowedFile(certificate), FollowedFile(key)
    if options.cert_dir is None:
        return None
    try:
        certificate, key = kept_pair(options.cert_dir)
        return FollowedFile(certificate), FollowedFile(key)
    except OSError as error:
        log.warning(
            "--cert-dir %s cannot be written (%s): the certificate is kept in memory",
            options.cert_dir,
            error.strerror,
        )
        return None


def _load_from_memory(context: ssl.SSLContext, pair: Pair) -> None:
    """OpenSSL through Python reads files only; this one never reaches a disk."""
    descriptor = os.memfd_create("loadline-tls")
    try:
        os.write(descriptor, pair.certificate + pair.key)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _no_password() -> str:
    """Without this OpenSSL would ask for the pass phrase of an encrypted key on the terminal."""
    raise ssl.SSLError("the key is encrypted; give one that is not")
