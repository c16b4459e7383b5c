"""The effect core: claims, fenced outcomes, unknowns. Knows nothing about prospects."""
