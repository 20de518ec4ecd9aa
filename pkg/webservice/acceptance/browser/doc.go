// Package browser tests the dashboard in a real browser: a headless Chromium reads
// the page, clicks and types as an operator would, and what it shows is compared
// with what REST says. It has tests only.
//
// What is looked at does not move. A stage is a cluster at one moment: the real
// scheduler played an example under virtual time until something worth seeing was
// going on, and what it showed then is served. So numbers stay while a test compares
// them, however slow the machine is, and nothing waits for time to pass: tests wait
// for what the page says.
//
// Tests that only look at a stage share its server, and the pages there: to load a page takes most of
// the time of a small test. pool_test.go says what of a page is given up between two tests.
//
// Any error on the console, exception, violation of the content security policy or
// request that fails is a failure of the test that saw it.
//
// Without a browser the tests are skipped, and say what to install.
package browser
