/** Bodies that no system answers: huge, deep, malformed, or of other types than they should be. Large ones are made once. */
import type { Random } from '../attacker/random.ts'

const mebibyte = 2 ** 20
const many = '{},'.repeat((16 * mebibyte) / 3)

/** Of what a good answer is: its members have these names. */
const large: readonly (() => Buffer)[] = [
  () => Buffer.from(`{"metadata":{"resourceVersion":"1"},"items":[${many}{}]}`),
  () => Buffer.from(`{"keys":[${many}{}],"x":[${many}{}]}`),
  () => Buffer.from(`{"metadata":{"resourceVersion":"${'9'.repeat(16 * mebibyte)}"},"items":[]}`),
  () => Buffer.from(`{"resource-version":"${'9'.repeat(16 * mebibyte)}","issuer":"${'x'.repeat(mebibyte)}"}`),
  () => Buffer.from(`{"items":${'['.repeat(mebibyte)}${']'.repeat(mebibyte)}}`),
  () => Buffer.alloc(24 * mebibyte, ' '),
  () => Buffer.from(`[${'1234567890123456789,'.repeat(mebibyte)}1]`),
  () => Buffer.from(`{"messageId":"SVC${'3'.repeat(16 * mebibyte)}","message":"${'\u202e'.repeat(mebibyte)}"}`),
  () => Buffer.alloc(8 * mebibyte, 0xff),
]
const made = new Map<number, Buffer>()

const odd = [
  ...[
    '',
    'null',
    '7',
    '[]',
    '""',
    '"text"',
    '<html>',
    '{',
    '{"a":',
    '[{"a":1}',
    '\ufeff{}',
    '{"__proto__":{"items":[]}}',
  ],
  ...['{"items":null}', '{"items":[null,7,"x",[]],"metadata":{"resourceVersion":"5"}}', '{"metadata":null,"items":[]}'],
  ...['{"metadata":{"resourceVersion":"5","continue":"again"},"items":[]}', '{"items":[],"metadata":{}}'],
  ...['{"type":"ADDED","object":null}\n', '{"type":"ERROR","object":{"code":410}}\n', '{"type":"ERROR","object":[]}\n'],
  ...[
    '{"error":"\\u001b[2J","error_description":"\\u0000"}',
    '<Error><Code>NoSuchKey</Code></Error>',
    '{"keys":[null]}',
  ],
  ...['{"resource-version":"7","operational-status":[]}', '{"keys":[{"kty":"EC","crv":"P-256","x":"","y":""}]}'],
]

export function oddBody(random: Random): Buffer {
  if (random.chance(60)) return Buffer.from(random.choose(odd))
  const index = random.below(large.length)
  const body = made.get(index) ?? large[index]?.() ?? Buffer.alloc(0)
  made.set(index, body)
  return body
}

const values = [null, 7, -1, 1e308, true, '', '\0', '\u202e', 'x'.repeat(5_000), [], {}, [null], '__proto__', [[[[]]]]]

/** The same JSON with some values replaced. */
export function mutated(text: string, random: Random): string {
  try {
    return JSON.stringify(JSON.parse(text), (key, value: unknown) =>
      key !== '' && random.chance(10) ? random.choose(values) : value,
    )
  } catch {
    return text
  }
}
