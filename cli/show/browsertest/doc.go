// Package browsertest tests the page of hilo top --listen in a real browser, headless Chromium, against real Redis servers. It is
// a separate module, so that hilo does not require the browser driver.
//
//	go test ./...                                   # with chromium in PATH
//	go test -run Picture -pictures /tmp/pictures    # writes pictures; ../page.png is light-1280.png, ../demo.svg is demo.svg
//	go test -run ^$ -bench Frame -benchtime 20x      # time and memory of the page
package browsertest
