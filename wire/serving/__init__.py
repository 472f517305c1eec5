"""The listener that both programs have: TLS, delegated authentication and authorization, health, `/metrics`."""
