/** What command lines share. */

/** What whoever typed it can put right: exit code 64. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** As in sysexits.h, where it has one. */
export const exitCodes = {
  reached: 0,
  failed: 1,
  timeout: 2,
  usage: 64,
  unavailable: 69,
  refused: 77,
  interrupted: 130,
} as const

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
/** Node's timers go no further. */
const longest = 2 ** 31 - 1

/** Milliseconds of a text such as 90s, 2m or 1.5h; a bare number is seconds. */
export function parseDuration(name: string, text: string): number {
  const [, number = '', unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? []
  const value = Math.round(Number(number) * (units[unit] ?? 0))
  if (number !== '' && value > 0 && value <= longest) return value
  throw new UsageError(`${name} must be a time such as 90s, 5m or 1h, at most 596h, but is ${JSON.stringify(text)}`)
}
