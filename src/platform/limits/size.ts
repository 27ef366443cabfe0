/** Estimates the size of a value of a request or a response: about the number of characters of its JSON. */

/** Characters for a number, the quotes of a name, a bracket or a comma. */
const overhead = 8

/** Stops above `most`. It does not recurse: recursion would overflow the stack on a hostile depth. */
export function sizeOf(value: unknown, most: number): number {
  let size = 0
  const waiting: unknown[] = [value]
  while (waiting.length > 0 && size <= most) {
    const one = waiting.pop()
    size += overhead
    if (typeof one === 'string') size += one.length
    else if (Array.isArray(one)) for (const item of one) waiting.push(item)
    else if (typeof one === 'object' && one !== null)
      for (const [name, member] of Object.entries(one)) {
        size += name.length
        waiting.push(member)
      }
  }
  return size
}
