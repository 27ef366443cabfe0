import { hash } from 'node:crypto'

/** The digest of the exact bytes, in the only form that Margo accepts. It identifies an artifact of the desired state. */
export function digestOf(content: Uint8Array | string): string {
  return `sha256:${hash('sha256', content, 'hex')}`
}
