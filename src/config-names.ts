/** Environment variables that are probably meant as one of ours: a mistyped one would have no effect, and nothing would say so. */
import { editDistance } from './domain/edit-distance.ts'

export interface Misspelled {
  readonly name: string
  readonly meant: string
}

export function misspelled(env: NodeJS.ProcessEnv, known: readonly string[]): readonly Misspelled[] {
  return Object.keys(env)
    .filter((name) => /^[A-Z][A-Z_]+$/.test(name) && !known.includes(name))
    .flatMap((name) => {
      // Of short names many resemble each other by chance: HOME is no HOST.
      const meant = known.find((each) => each.length >= 6 && editDistance(name, each) <= (each.length >= 9 ? 2 : 1))
      return meant === undefined || env[meant] !== undefined ? [] : [{ name, meant }]
    })
}
