"""`loadline-adapter`, as the plugin runs it: it ends as quietly as the plugin on Ctrl-C and when its output is not read to its end."""

import sys

from adapter.__main__ import main
from kubectl_loadline.terminal.ending import quiet_end

if __name__ == "__main__":
    sys.exit(quiet_end(main))
