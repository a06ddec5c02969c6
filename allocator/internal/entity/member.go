package entity

import (
	"fmt"
	"reflect"
	"slices"
)

// Member is the field of a struct type that holds the identifier. Its type or
// underlying type is string or *string.
type Member struct {
	of    reflect.Type
	field reflect.StructField
}

// In returns the member of v, a struct of this type.
func (m Member) In(v reflect.Value) (reflect.Value, error) {
	member, err := v.FieldByIndexErr(m.field.Index)
	if err != nil {
		return member, fmt.Errorf("type %s, member %s: it is in an embedded struct that is a nil pointer", m.of, m.field.Name)
	}
	return member, nil
}

// Text returns the text of the member, and reports whether it requests HiLo.
func (Member) Text(member reflect.Value) (text string, hilo bool) {
	if member.Kind() == reflect.String {
		text = member.String()
		return text, text == ""
	}
	if member.IsNil() {
		return "", true
	}
	return member.Elem().String(), false
}

// Set stores an identifier in the member. A *string is set to a new string.
func (m Member) Set(member reflect.Value, id string) {
	if member.Kind() == reflect.String {
		member.SetString(id)
		return
	}
	fresh := reflect.New(m.field.Type.Elem())
	fresh.Elem().SetString(id)
	member.Set(fresh)
}

// FindMember finds the field of struct type t that holds the identifier, which is
// the one tagged hilo:"id", else ID, else Id. The error names the rule.
func FindMember(t reflect.Type) (Member, error) {
	refuse := func(member, why string) (Member, error) {
		return Member{}, fmt.Errorf("type %s, member %s: %s", t, member, why)
	}
	const ambiguous = "more than one embedded struct promotes it: give the type one of its own"
	fields := allFields(t, nil, nil)
	var found []reflect.StructField
	for _, f := range fields {
		tag, tagged := f.Tag.Lookup("hilo")
		if !tagged {
			continue
		}
		if tag != "id" {
			return refuse(f.Name, fmt.Sprintf("unknown tag hilo:%q: only hilo:\"id\" is allowed", tag))
		}
		if !f.IsExported() {
			return refuse(f.Name, "it is tagged hilo:\"id\" and not exported: export it")
		}
		visible, ok := t.FieldByName(f.Name)
		if !ok {
			return refuse(f.Name, ambiguous)
		}
		if slices.Equal(visible.Index, f.Index) { // else a field nearer to t hides it
			found = append(found, f)
		}
	}
	for _, name := range []string{"ID", "Id"} {
		if len(found) > 0 {
			break
		}
		if f, ok := t.FieldByName(name); ok {
			found = append(found, f)
		} else if slices.ContainsFunc(fields, func(f reflect.StructField) bool { return f.Name == name }) {
			return refuse(name, ambiguous)
		}
	}
	switch {
	case len(found) == 0:
		return Member{}, fmt.Errorf("type %s has no field ID or Id and none tagged hilo:\"id\": add one", t)
	case len(found) > 1:
		return refuse(found[0].Name+" and "+found[1].Name, "both are tagged hilo:\"id\": only one may be")
	}
	kind := found[0].Type.Kind()
	if kind == reflect.Pointer {
		kind = found[0].Type.Elem().Kind()
	}
	if kind != reflect.String {
		return refuse(found[0].Name, fmt.Sprintf("its type is %s: must be string or *string", found[0].Type))
	}
	return Member{of: t, field: found[0]}, nil
}

// allFields returns every field of t and of the structs embedded in it, hidden
// and ambiguous ones too. around has the types that t is embedded in.
func allFields(t reflect.Type, index []int, around []reflect.Type) []reflect.StructField {
	if slices.Contains(around, t) { // by an embedded pointer to itself
		return nil
	}
	around = append(around, t)
	var fields []reflect.StructField
	for f := range t.Fields() {
		f.Index = append(slices.Clip(index), f.Index...)
		fields = append(fields, f)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && inner.Kind() == reflect.Struct {
			fields = append(fields, allFields(inner, f.Index, around)...)
		}
	}
	return fields
}
