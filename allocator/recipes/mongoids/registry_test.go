package mongoids_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/hilo-id/hilo/allocator/recipes/internal/stand"
	"github.com/hilo-id/hilo/allocator/recipes/mongoids"
	"github.com/hilo-id/hilo/prefix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type Order struct {
	ID   string `bson:"_id"`
	Item string
}

func Example() {
	ids, stop := stand.ExampleIDs() // allocator.New in a program, called once
	defer stop()
	sent := new(recorder)
	client, err := mongo.Connect(sent.options()) // mongo.Connect(options.Client().ApplyURI(…)) in a program
	if err != nil {
		panic(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()

	orders := client.Database("shop").Collection("orders")
	tea, mate := Order{Item: "tea"}, Order{Item: "mate"}
	err = mongoids.Insert(context.Background(), orders, ids, &tea, &mate)
	fmt.Println(tea.ID, mate.ID, err)
	for _, document := range sent.all() {
		fmt.Println(document)
	}
	// Output:
	// orders/1 orders/2 <nil>
	// {"_id": "orders/1","item": "tea"}
	// {"_id": "orders/2","item": "mate"}
}

// recorder keeps the documents of the insert commands that a client sends.
type recorder struct {
	mu        sync.Mutex
	documents []string
}

func (r *recorder) options() *options.ClientOptions {
	return options.Client().
		SetHosts([]string{"mongo.example"}).SetDirect(true).SetDialer(fakeMongo{}).
		SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion1)).
		SetServerMonitoringMode("poll").
		SetRegistry(mongoids.Registry()).
		SetMonitor(&event.CommandMonitor{Started: r.started})
}

func (r *recorder) started(_ context.Context, e *event.CommandStartedEvent) {
	if e.CommandName != "insert" {
		return
	}
	values, err := e.Command.Lookup("documents").Array().Values()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.documents = append(r.documents, err.Error())
	}
	for _, value := range values {
		r.documents = append(r.documents, value.String())
	}
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.documents)
}

func TestInsertOfNoDocumentsSendsNothing(t *testing.T) {
	t.Parallel()
	ids := stand.IDs(t)
	if err := mongoids.Insert[Order](t.Context(), nil, ids); err != nil { // a request to the database would panic
		t.Errorf("got %v, want no error", err)
	}
	if got := ids.Stats().Collections; len(got) != 0 {
		t.Errorf("got the collections %+v, want none", got)
	}
}

func TestRegistryStoresAnIdentifierAsItsText(t *testing.T) {
	t.Parallel()
	type invoice struct {
		ID    prefix.ID `bson:"_id"`
		Total int64
	}
	sent := new(recorder)
	client, err := mongo.Connect(sent.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	id := prefix.ID{Collection: "invoices", ServerPrefix: "North/", Number: 1, NodeTag: "A"}
	result, err := client.Database("shop").Collection("invoices").InsertOne(t.Context(), invoice{ID: id, Total: 42})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sent.all(), []string{`{"_id": "invoices/North/1-A","total": {"$numberLong":"42"}}`}; !slices.Equal(got, want) {
		t.Errorf("sent is %s, want %s, as %v", got, want, result.InsertedID)
	}
}

func TestRegistryReadsATextAsAnIdentifier(t *testing.T) {
	t.Parallel()
	type invoice struct {
		ID prefix.ID `bson:"_id"`
	}
	tests := []struct {
		name string
		text any
		want prefix.ID // zero means an error
	}{
		{"a number alone", "invoices/1", prefix.ID{Collection: "invoices", Number: 1}},
		{"with everything", "invoices/North/1-A", prefix.ID{Collection: "invoices", ServerPrefix: "North/", Number: 1, NodeTag: "A"}},
		{"another text", "invoices", prefix.ID{}},
		{"no text", 1, prefix.ID{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stored, err := bson.Marshal(bson.D{{Key: "_id", Value: test.text}})
			if err != nil {
				t.Fatal(err)
			}
			decoder := bson.NewDecoder(bson.NewDocumentReader(bytes.NewReader(stored)))
			decoder.SetRegistry(mongoids.Registry())
			var got invoice
			if err := decoder.Decode(&got); got.ID != test.want || (err != nil) != (test.want == prefix.ID{}) {
				t.Errorf("read is %+v, %v, want %+v", got.ID, err, test.want)
			}
		})
	}
}

func TestRegistryRefusesAnEmptyIdentifier(t *testing.T) {
	t.Parallel()
	sent := new(recorder)
	client, err := mongo.Connect(sent.options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	_, err = client.Database("shop").Collection("invoices").InsertOne(t.Context(), bson.D{{Key: "_id", Value: prefix.ID{}}})
	if err == nil || len(sent.all()) != 0 {
		t.Errorf("the error is %v, sent is %s", err, sent.all())
	}
}
