import { hash } from 'node:crypto'

/** What the desired state's artifacts are known by: of the exact bytes, in the one form that Margo takes. */
export function digestOf(content: Uint8Array | string): string {
  return `sha256:${hash('sha256', content, 'hex')}`
}
