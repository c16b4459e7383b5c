"""The Custom Event Bus (`eventbridgev2`), as far as its documentation says how it behaves."""
