package group

// TriesMax is how many groups are tried in one batch.
const TriesMax = groupTriesMax
