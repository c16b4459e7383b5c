"""A stand-in of a payment provider: Stripe's refunds over HTTP, so that the real library is what runs."""
