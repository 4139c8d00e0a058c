# SPDX-License-Identifier: Apache-2.0
"""phoenixdb imports Kerberos' binding when it is loaded, which needs a compiler and Kerberos' headers; nothing here asks for it."""
