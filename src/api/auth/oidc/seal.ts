/**
 * Encrypts what a browser, a terminal or the database keeps: login records, device codes, and the tokens of the issuer.
 *
 * The key is derived from OIDC_CLIENT_SECRET, so all servers of an installation read it, and a copy of the database does not. A public
 * client has no secret: its key lives in the memory of one process. A key beside the tokens in the database was rejected.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

export interface Seal {
  /** `purpose` keeps a text of one use from being accepted for another. */
  encrypt(purpose: string, value: unknown): string
  /** Null: another key or purpose, or a changed text. */
  decrypt<Value>(purpose: string, text: string): Value | null
}

const [ivLength, tagLength] = [12, 16]

export function createSeal(secret: string | null): Seal {
  const key =
    secret === null ? randomBytes(32) : Buffer.from(hkdfSync('sha256', secret, 'rollcall', 'oidc sealed records', 32))

  return {
    encrypt(purpose, value) {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    decrypt(purpose, text) {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length < ivLength + tagLength) return null
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivLength), { authTagLength: tagLength })
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(ivLength, ivLength + tagLength))
        const opened = Buffer.concat([decipher.update(bytes.subarray(ivLength + tagLength)), decipher.final()])
        return JSON.parse(opened.toString('utf8'))
      } catch {
        return null
      }
    },
  }
}
