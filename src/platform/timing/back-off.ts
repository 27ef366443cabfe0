/** Pauses after failures: doubled with each further failure, minus up to half at random, so that what failed together does not retry together. */
import type { Millis } from '../../domain/values.ts'

export interface BackOff {
  /** The whole pause after the first failure. */
  readonly first: Millis
  /** The limit of the whole pause. */
  readonly longest: Millis
}

/** `earlier`: the number of consecutive failures before the one that the pause follows. */
export function pauseAfter({ first, longest }: BackOff, earlier: number): Millis {
  return Math.round(Math.min(first * 2 ** earlier, longest) * (0.5 + Math.random() / 2))
}
