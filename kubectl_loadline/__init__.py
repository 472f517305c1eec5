"""`kubectl loadline`: the plugin for people, with the rights of their kubeconfig."""
