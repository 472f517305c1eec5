"""The HTTPS server of both programs: TLS, delegated authentication and authorization, health, `/metrics`."""
