/**
 * A tool that writes shows first what it would do. Its answer has a word that confirms exactly this: the same arguments, with the same effect. If the effect
 * has changed meanwhile, the word is another one, and the tool shows the new effect. The word is derived, so no server keeps it and any server knows it. It
 * is no secret: what a caller may do, its rights say.
 */
import { createHash } from 'node:crypto'

export function confirmationOf(tool: string, input: object, effect: object): string {
  const { confirm: _, limit: __, ...given } = input as Record<string, unknown>
  return createHash('sha256')
    .update(JSON.stringify([tool, given, effect]))
    .digest('base64url')
    .slice(0, 16)
}
