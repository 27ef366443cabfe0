/** Public keys that OpenSSL reads and no device has: refused by their length, before their numbers are computed. */
import { expect, it } from 'vitest'
import { readPublicKey } from '../../../src/api/auth/devices/public-key.ts'

/** A value of DER. */
function der(tag: number, content: Buffer): Buffer {
  const size = content.length
  return Buffer.concat([Buffer.from([tag, 0x83, size >> 16, (size >> 8) & 0xff, size & 0xff]), content])
}

function rsaKey(modulusBits: number, exponentBits: number): string {
  const number = (bits: number): Buffer => der(0x02, Buffer.concat([Buffer.alloc(1), Buffer.alloc(bits / 8, 0xff)]))
  const numbers = der(0x30, Buffer.concat([number(modulusBits), number(exponentBits)]))
  const algorithm = Buffer.from('300d06092a864886f70d0101010500', 'hex')
  const key = der(0x30, Buffer.concat([algorithm, der(0x03, Buffer.concat([Buffer.alloc(1), numbers]))]))
  return key.toString('base64')
}

it('takes an RSA key of 8192 bits, and refuses one with a long exponent', () => {
  expect(readPublicKey(rsaKey(8_192, 24))).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{64}$/) })
  for (const exponent of [16_384, 262_144, 4_000_000])
    expect(readPublicKey(rsaKey(2_048, exponent))).toMatch(/^must be a public key/)
})
