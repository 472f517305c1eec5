"""Who may ask what: the real prometheus-adapter and ours, asked by everybody who could come to the door.

`world` is what there is to ask for and who has which right to it, `askers` who comes and what they show, `asking` how
a request with a certificate and headers of one's own is sent.
"""
