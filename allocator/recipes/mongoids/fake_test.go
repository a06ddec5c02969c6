package mongoids_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	opMsg      = 2013
	headerSize = 16 // length, request, the request that it replies to, kind
)

// fakeMongo replies to the driver, over pipes in memory, as a MongoDB that accepts
// every command. It is the driver's dialer.
type fakeMongo struct{}

func (fakeMongo) DialContext(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer func() { _ = ours.Close() }()
		for serve(ours) == nil {
		}
	}()
	return theirs, nil
}

// serve replies to one request.
func serve(conn net.Conn) error {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(conn, header); err != nil {
		return err
	}
	body := make([]byte, binary.LittleEndian.Uint32(header)-headerSize)
	if _, err := io.ReadFull(conn, body); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(header[12:]) != opMsg || len(body) < 10 {
		return errors.New("a request of another kind")
	}
	command := bson.Raw(body[5:]) // after the flags and the kind of the first section
	elements, err := command[:binary.LittleEndian.Uint32(command)].Elements()
	if err != nil {
		return err
	}
	answer := bson.D{{Key: "ok", Value: 1}}
	switch elements[0].Key() {
	case "hello":
		answer = append(answer, bson.D{
			{Key: "isWritablePrimary", Value: true}, {Key: "minWireVersion", Value: 0}, {Key: "maxWireVersion", Value: 21},
			{Key: "maxBsonObjectSize", Value: 16 << 20}, {Key: "maxMessageSizeBytes", Value: 48_000_000}, {Key: "maxWriteBatchSize", Value: 100_000},
		}...)
	case "insert":
		answer = append(answer, bson.E{Key: "n", Value: 1})
	}
	document, err := bson.Marshal(answer)
	if err != nil {
		return err
	}
	var reply []byte
	for _, field := range []uint32{uint32(headerSize + 5 + len(document)), 0, binary.LittleEndian.Uint32(header[4:]), opMsg, 0} {
		reply = binary.LittleEndian.AppendUint32(reply, field) // the last one is the flags
	}
	reply = append(reply, 0) // a section that is one document
	_, err = conn.Write(append(reply, document...))
	return err
}
