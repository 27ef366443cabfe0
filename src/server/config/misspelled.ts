/** Finds environment variables that are probably mistyped names of ours. Without a warning, they would silently have no effect. */
import { editDistance } from '../../domain/edit-distance.ts'

interface Misspelled {
  readonly name: string
  readonly meant: string
}

export function misspelled(env: NodeJS.ProcessEnv, known: readonly string[]): readonly Misspelled[] {
  return (
    Object.keys(env)
      // Names of Amazon's other services resemble those of S3.
      .filter((name) => /^(?!AWS_)[A-Z][A-Z_]+$/.test(name) && !known.includes(name))
      .flatMap((name) => {
        // Many short names resemble each other by chance: HOME is not HOST.
        const meant = known.find((each) => each.length >= 6 && editDistance(name, each) <= (each.length >= 9 ? 2 : 1))
        return meant === undefined || env[meant] !== undefined ? [] : [{ name, meant }]
      })
  )
}
