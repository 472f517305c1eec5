"""How the browser learns the address of the page, whose token must not be on a command line."""

import stat

from kubectl_loadline.page.address_file import address_file

ADDRESS = "http://127.0.0.1:8080/to-ken/"


def test_only_the_user_can_read_the_file_and_it_is_removed_at_the_end():
    with address_file(ADDRESS) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert "to-ken" not in path.as_uri()
        text = path.read_text()
    assert f'content="0; url={ADDRESS}"' in text
    assert not path.exists()
