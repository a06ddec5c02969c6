package allocator

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hilo-id/hilo/allocator/internal/entity"
	"github.com/hilo-id/hilo/prefix"
)

// Assign fills the identifier of an entity, a pointer to a struct, unless it has one, and returns it. The identifier is the
// field tagged hilo:"id", else the exported field ID, else Id, also one that an embedded struct promotes. Its type or
// underlying type is string or *string (type OrderID string). Its value decides what the entity gets. With the separator "/"
// that is
//
//	string "", *string nil    HiLo of the type's collection, orders/1-A
//	*string to ""             a GUID
//	companies/                a server-side id, companies/0000000000000000027-A
//	companies|                an identity, companies/1
//	anything else             is kept as it is
//
// The collection of an entity is the result of its method HiLoCollection() string, else of [Options.CollectionOf], which is
// called once per type, else the plural of the type's name, in lower case if it has at most one upper-case letter. So
// Order has orders, Person people, UserGroup UserGroups, Foo[Bar] FoosOfBars, and Pair[Key, User] PairsOfKeysAndUsers,
// whatever the packages.
//
// The field changes only when there is no error. A *string is set to a new string, because the old one may be shared.
// Assign may be called concurrently, but not for one entity. On a type seen before, it costs at most some 150 ns more than
// Next. To keep an identifier takes neither a server nor ctx, and works after Close.
//
// Assign returns the errors of Next, Resolve and NextIdentity. ErrInvalidOptions is also for an argument that is nil or no
// pointer to a struct, and for a type without a field of the right type or without a name to make a collection of.
// ErrInvalidName is also for a collection that breaks the rules.
func (a *Allocator) Assign(ctx context.Context, pointer any) (string, error) {
	v := reflect.ValueOf(pointer)
	switch {
	case pointer == nil:
		return "", fmt.Errorf("allocator: %w: nil is no entity: it must be a pointer to a struct", ErrInvalidOptions)
	case v.Kind() != reflect.Pointer || v.Type().Elem().Kind() != reflect.Struct:
		return "", fmt.Errorf("allocator: %w: %T is no entity: it must be a pointer to a struct", ErrInvalidOptions, pointer)
	case v.IsNil():
		return "", fmt.Errorf("allocator: %w: the entity is a nil %T", ErrInvalidOptions, pointer)
	}
	v = v.Elem()
	e := a.entityType(v.Type())
	if e.err != nil {
		return "", e.err
	}
	member, err := e.member.In(v)
	if err != nil {
		return "", fmt.Errorf("allocator: %w: %w", ErrInvalidOptions, err)
	}
	text, hilo := e.member.Text(member)
	var id string
	if hilo {
		id, err = a.nextFor(ctx, e, v)
	} else {
		id, err = a.Resolve(ctx, text)
	}
	if err != nil {
		return "", err
	}
	if id != text { // else it is kept
		e.member.Set(member, id)
	}
	return id, nil
}

// nextFor issues the next HiLo identifier for v, a struct of type e.
func (a *Allocator) nextFor(ctx context.Context, e *entityType, v reflect.Value) (string, error) {
	if !e.namesItself {
		if e.unnamed != nil {
			return "", e.unnamed
		}
		return a.Next(ctx, e.collection)
	}
	name, err := askName(v)
	if err != nil {
		return "", err
	}
	c, err := a.Collection(name)
	if err != nil {
		return "", fmt.Errorf("%w (type %s, by its method HiLoCollection)", err, v.Type())
	}
	return c.Next(ctx)
}

// entityType is what Assign needs of a struct type, found by reflection once.
type entityType struct {
	member entity.Member
	// namesItself reports that *t has the method HiLoCollection. Otherwise collection is the type's collection, or unnamed
	// is why it has none, which does not matter to an entity that requests another kind of identifier.
	namesItself bool
	collection  string
	unnamed     error
	// err is why entities of the type get no identifier of any kind, or nil.
	err error
}

func (a *Allocator) entityType(t reflect.Type) *entityType {
	known, ok := a.types.Load(t)
	if !ok {
		known, _ = a.types.LoadOrStore(t, a.inspect(t))
	}
	return known.(*entityType)
}

func (a *Allocator) inspect(t reflect.Type) *entityType {
	e := new(entityType)
	var err error
	if e.member, err = entity.FindMember(t); err != nil {
		e.err = fmt.Errorf("allocator: %w: %w", ErrInvalidOptions, err)
		return e
	}
	if e.namesItself = reflect.PointerTo(t).Implements(reflect.TypeFor[collectionNamer]()); e.namesItself {
		return e
	}
	e.collection, e.unnamed = a.collectionOf(t)
	if t.Name() == "" {
		e.err = e.unnamed
	}
	return e
}

type collectionNamer interface{ HiLoCollection() string }

const nameIt = "name the collection by a method HiLoCollection() string or by Options.CollectionOf"

// collectionOf names the collection of a type that has no HiLoCollection, by Options.CollectionOf or else by convention.
func (a *Allocator) collectionOf(t reflect.Type) (string, error) {
	name, by := "", "Options.CollectionOf"
	if a.opts.CollectionOf != nil {
		name = a.opts.CollectionOf(t)
	}
	if name == "" {
		if t.Name() == "" {
			return "", fmt.Errorf("allocator: %w: %s has no name to make a collection of: %s", ErrInvalidOptions, t, nameIt)
		}
		var ok bool
		if name, ok = entity.Collection(t.Name()); !ok {
			return "", fmt.Errorf("allocator: %w: type %s has a type argument without a name of its own: %s", ErrInvalidName, t, nameIt)
		}
		by = "the plural of its name"
	}
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return "", fmt.Errorf("allocator: type %s, by %s: %w", t, by, err)
	}
	return name, nil
}

// askName calls HiLoCollection of v. A method that is promoted from an embedded nil pointer panics, and so may one that does
// not expect an unfinished entity.
func askName(v reflect.Value) (name string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("allocator: %w: type %s: its method HiLoCollection panics: %v", ErrInvalidName, v.Type(), cause)
		}
	}()
	return v.Addr().Interface().(collectionNamer).HiLoCollection(), nil
}
