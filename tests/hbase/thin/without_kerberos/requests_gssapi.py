# SPDX-License-Identifier: Apache-2.0
"""As gssapi.py."""


class HTTPSPNEGOAuth:
    pass


OPTIONAL = 2
