package yamltree

// MergesMax is a bound for tests that go beyond it.
const MergesMax = mergesMax
