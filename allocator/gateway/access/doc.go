// Package access bounds and authenticates the requests to an HTTP server of hilo's: a gateway, or a page for browsers.
//
// A SignIn accepts bearer tokens and client certificates. ForBrowsers adds what a browser can send, and rejects requests that
// reach a loopback listener under a foreign name. NewServer, LimitConnections and Bound limit what a client can make a server
// hold.
package access
