/** A value that its reader must not change, at any depth. */
export type Immutable<Value> = Value extends readonly (infer Element)[]
  ? readonly Immutable<Element>[]
  : Value extends object
    ? { readonly [Member in keyof Value]: Immutable<Value[Member]> }
    : Value;
