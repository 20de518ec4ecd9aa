package operators

func verify(a int) bool { return a > 1 }
