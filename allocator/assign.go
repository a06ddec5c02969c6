package allocator

import (
	"context"
	"fmt"
	"reflect"

	"github.com/hilo-id/hilo/allocator/internal/entity"
	"github.com/hilo-id/hilo/prefix"
)

// Assign fills the identifier of an entity, a pointer to a struct, unless it has one, and returns it. The member is the
// field tagged `hilo:"id"`, else the exported field ID, else Id, also one that an embedded struct promotes. Its type is
// string or *string, or has one of them underneath (type OrderID string). What it holds says what the entity gets,
// shown with the separator "/":
//
//	string "", *string nil    HiLo of the type's collection, orders/1-A
//	*string to ""             a GUID
//	companies/                a server-side id, companies/0000000000000000027-A
//	companies|                an identity, companies/1
//	anything else             is kept as it is
//
// The collection of a type is what its method HiLoCollection() string says, on the entity at hand; else what
// Options.CollectionOf says of the struct type, asked about once per type; else the plural of the type's name, in lower
// case if it has at most one upper-case letter: orders for Order, people for Person, UserGroups for UserGroup,
// FoosOfBars for Foo[Bar] and PairsOfKeysAndUsers for Pair[Key, User], whatever the packages.
//
// The member changes only when there is no error. A *string is pointed to a new string: what it pointed to may be
// shared, and stays. Entities may be assigned to concurrently, one entity may not. On a type seen before, Assign costs
// at most some 150 ns more than Next. To keep an identifier takes neither a server nor ctx, and works after Close.
//
// Errors, beside those of Next, Resolve and NextIdentity: ErrInvalidOptions for what is not a pointer to a struct, is
// nil, has no member or one of another type, or no type name and nothing that names a collection for it; ErrInvalidName
// for a collection that breaks the rules.
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
	e, err := a.entityType(v.Type())
	if err != nil {
		return "", err
	}
	member, err := e.member.In(v)
	if err != nil {
		return "", fmt.Errorf("allocator: %w: %w", ErrInvalidOptions, err)
	}
	text, hilo := e.member.Asks(member)
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

// nextFor is the next HiLo identifier for v, a struct of type e.
func (a *Allocator) nextFor(ctx context.Context, e *entityType, v reflect.Value) (string, error) {
	if !e.namesItself {
		if e.unnamed != nil {
			return "", e.unnamed
		}
		return a.Next(ctx, e.collection)
	}
	name, err := e.askName(v)
	if err != nil {
		return "", err
	}
	c, err := a.Collection(name)
	if err != nil {
		return "", fmt.Errorf("%w (type %s, by its method HiLoCollection)", err, e.t)
	}
	return c.Next(ctx)
}

// entityType is what reflection tells of a struct type, worked out once.
type entityType struct {
	t      reflect.Type
	member entity.Member
	// namesItself says that *t has HiLoCollection. Another type has a collection, or is unnamed for a reason, which is
	// of no interest to an entity that asks for another kind of identifier.
	namesItself bool
	collection  string
	unnamed     error
}

// entityType is that of struct type t, or why entities of it get no identifier.
func (a *Allocator) entityType(t reflect.Type) (*entityType, error) {
	known, ok := a.types.Load(t)
	if !ok {
		e, err := a.inspect(t)
		if err != nil {
			known, _ = a.types.LoadOrStore(t, err)
		} else {
			known, _ = a.types.LoadOrStore(t, e)
		}
	}
	if e, ok := known.(*entityType); ok {
		return e, nil
	}
	return nil, known.(error)
}

func (a *Allocator) inspect(t reflect.Type) (*entityType, error) {
	member, err := entity.FindMember(t)
	if err != nil {
		return nil, fmt.Errorf("allocator: %w: %w", ErrInvalidOptions, err)
	}
	e := &entityType{t: t, member: member}
	if e.namesItself = reflect.PointerTo(t).Implements(reflect.TypeFor[collectionNamer]()); e.namesItself {
		return e, nil
	}
	e.collection, e.unnamed = a.collectionOf(t)
	if e.unnamed != nil && t.Name() == "" {
		return nil, e.unnamed
	}
	return e, nil
}

// collectionNamer is an entity that names its collection itself.
type collectionNamer interface{ HiLoCollection() string }

const nameIt = "name the collection by a method HiLoCollection() string or by Options.CollectionOf"

// collectionOf names the collection of a type that does not do so itself: by Options.CollectionOf, else by convention.
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
		if name, ok = entity.Collection(t); !ok {
			return "", fmt.Errorf("allocator: %w: type %s has a type argument without a name of its own: %s", ErrInvalidName, t, nameIt)
		}
		by = "the plural of its name"
	}
	if err := prefix.ValidateCollection(name, a.opts.Separator); err != nil {
		return "", fmt.Errorf("allocator: type %s, by %s: %w", t, by, err)
	}
	return name, nil
}

// askName asks v for its collection. A method that is promoted from an embedded nil pointer panics, and so may one that
// does not expect an unfinished entity.
func (e *entityType) askName(v reflect.Value) (name string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("allocator: %w: type %s: its method HiLoCollection panics: %v", ErrInvalidName, e.t, cause)
		}
	}()
	return v.Addr().Interface().(collectionNamer).HiLoCollection(), nil
}
