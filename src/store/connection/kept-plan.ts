/** Which statements are prepared, and which are planned anew for their parameters. */

/** Characters. A page of keys has fewer. */
const longest = 4_000

/**
 * A kept plan is good for any parameters: it does not know the elements of a list. A condition `= any(list)` that no index serves then compares each row
 * with each element. With 10,000 elements and 30,000 rows that took 7 s instead of 0.1 s. A statement that writes has its rows as
 * parameters, and finds others by keys.
 */
export function isKept(text: string, parameters: readonly unknown[]): boolean {
  const isShort = parameters.every((parameter) => typeof parameter !== 'string' || parameter.length <= longest)
  return isShort || /\b(insert|update|delete)\b/i.test(text)
}
