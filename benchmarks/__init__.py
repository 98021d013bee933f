"""How fast dxopt is beside what people write by hand, and only where the answers hold. See README.md."""
