package torture

// Class is for tests of what counts as the same law.
var Class = class
