/**
 * An export reads the whole log, which the attack itself makes longer. So whole exports get a share of the time, one at a time. The attacker leaves
 * all others after their first bytes, or when none come soon. To send fewer exports was rejected: their parameters are attacked too.
 */

interface LongReads {
  /** Null: the export must be left early. Otherwise call the result at its end. */
  begin(): (() => void) | null
}

const share = 0.15
/** Milliseconds that are free at the start. */
const allowance = 3_000

export function createLongReads(): LongReads {
  const start = performance.now()
  let spent = 0
  let isReading = false
  return {
    begin() {
      const began = performance.now()
      if (isReading || spent > allowance + share * (began - start)) return null
      isReading = true
      return () => {
        isReading = false
        spent += performance.now() - began
      }
    },
  }
}
