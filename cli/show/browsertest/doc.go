// Package browsertest tests the page of hilo top --listen in a real browser, headless Chromium, against real Redis servers. It is
// a module of its own, so that hilo does not require what drives the browser.
//
//	go test ./...                                   # with chromium in PATH
//	go test -run Picture -pictures /tmp/pictures    # draws what is looked at; ../page.png is light-1280.png, ../demo.svg is demo.svg
//	go test -run ^$ -bench Frame -benchtime 20x      # the time and the memory that the page takes
package browsertest
