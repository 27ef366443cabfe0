/**
 * What belongs to a short-lived object, kept on the object itself: not seen, and not copied with it. A WeakMap would say the same; but its
 * table grows old, and V8 keeps what an old object refers to until the next full collection: all that was read for a question would outlive it.
 *
 * The same goes for functions that refer to what is short-lived: V8 makes them old at once where they are assigned to a property, and as
 * getters of an object literal. Methods of a literal, arrow functions in it and getters of a class are young.
 */
export interface Attachment<Of extends object, T> {
  get(of: Of): T | undefined
  set(of: Of, value: T): void
}

export function createAttachment<Of extends object, T>(name: string): Attachment<Of, T> {
  const place = Symbol(name)
  return {
    // Not what another object, that this one is made from, has.
    get: (of) => (Object.hasOwn(of, place) ? (of as { readonly [place]?: T })[place] : undefined),
    set: (of, value) => void Object.defineProperty(of, place, { value, configurable: true, writable: true }),
  }
}
