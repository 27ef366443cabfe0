/** The few types of ASN.1 that a certificate consists of, in DER (X.690). */

export function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

export const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts)
export const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, ...parts)
export const octets = (value: Buffer): Buffer => tagged(0x04, value)
export const bits = (value: Buffer): Buffer => tagged(0x03, Buffer.from([0]), value)
export const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]))
export const text = (value: string): Buffer => tagged(0x0c, Buffer.from(value))

/** Below 32,768. */
export const integer = (value: number): Buffer =>
  tagged(0x02, Buffer.from(value < 0x80 ? [value] : [value >> 8, value & 0xff]))

export function objectId(id: string): Buffer {
  const [first = 0, second = 0, ...rest] = id.split('.').map(Number)
  const encode = (part: number): number[] =>
    part < 0x80 ? [part] : [...encode(Math.floor(part / 0x80)).map((byte) => byte | 0x80), part % 0x80]
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(encode)]))
}

/** UTCTime, which lasts until 2049. */
export const time = (millis: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(millis).toISOString().slice(2, 19).replace(/\D/g, '')}Z`))

const kinds: Readonly<Record<string, number>> = { DNS: 0x82, URI: 0x86, IP: 0x87 }

/** `names`: as OpenSSL writes them, `DNS:localhost,IP:127.0.0.1`. */
export function alternativeNames(names: string): Buffer {
  const parts = names.split(',').map((name) => {
    const [kind = '', ...rest] = name.split(':')
    const value = rest.join(':')
    const tag = kinds[kind]
    if (tag === undefined) throw new Error(`there is no kind of name ${kind}`)
    return tagged(tag, kind === 'IP' ? Buffer.from(value.split('.').map(Number)) : Buffer.from(value))
  })
  return sequence(...parts)
}
