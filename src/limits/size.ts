/** How much of a value that somebody sent, or is sent, there is: about as many characters as its JSON has. */

/** Of a number, a name's quotes, a bracket, a comma. */
const overhead = 8

/** Stops when it is more than `most`. Without recursion, which an evil depth would break. */
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
