package recording

// MakeImage makes the image of a segment that begins without one.
func MakeImage(path string) error {
	_, err := makeImage(path, func() bool { return false })
	return err
}
