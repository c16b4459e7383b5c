"""Who moves the money: one module a provider, all behind `protocol.Provider`."""
