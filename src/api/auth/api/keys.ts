/** API keys and session cookies: 256 random bits each, which need neither salt nor key stretching. Only their hashes are stored. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

interface NewKey {
  /** Identifies the key. It is not secret. */
  readonly id: string
  /** Shown once. */
  readonly text: string
  readonly hash: string
}

const prefix = 'rollcall_key_'

export function newApiKey(): NewKey {
  const text = `${prefix}${random(32)}`
  return { id: random(9), text, hash: hashOf(text) }
}

/** A device token may have the same prefix, but is shorter. */
export function looksLikeApiKey(text: string): boolean {
  return text.startsWith(prefix) && text.length === prefix.length + 43
}

export function newCookie(): { readonly text: string; readonly hash: string } {
  const text = random(32)
  return { text, hash: hashOf(text) }
}

const terminalPrefix = 'rollcall_session_'

/** The session of a terminal, which sends it as a bearer token. The prefix keeps cookies from being used that way. */
export function newTerminalToken(): { readonly text: string; readonly hash: string } {
  const text = `${terminalPrefix}${random(32)}`
  return { text, hash: hashOf(text) }
}

export function looksLikeTerminalToken(text: string): boolean {
  return text.startsWith(terminalPrefix)
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Compares in constant time. */
export function isSameHash(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

function random(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}
