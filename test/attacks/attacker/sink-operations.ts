/** Changes of sinks: pauses, updates, tests, resends and removal, of sinks that exist, that are gone, and that are no sinks. */
import type { RandomRequest } from '../random-document.ts'
import type { Random } from './random.ts'

/** Inside, written in every way that resolves there. None may become the target of a sink. */
export const insideUrls = [
  ...[
    'http://127.0.0.1:9',
    'http://127.1',
    'http://0x7f000001/',
    'http://[::1]:9093',
    'http://[::ffff:10.0.0.1]',
    'http://localhost',
  ],
  ...[
    'http://169.254.169.254/latest',
    'http://[64:ff9b::7f00:1]',
    'http://10.0.0.1@192.168.0.1',
    'file:///etc/passwd',
    'http://0/',
  ],
]
/** A name that never resolves (RFC 6761). */
export const outsideUrl = 'https://sink.invalid/hook'

/** Sinks that exist before the attack. They are the first of the database, so their keys are known. */
export const firstSinks = 12

/** Of a sink, or of one of its deliveries. */
function sinkId(random: Random): string {
  const key = random.chance(70)
    ? 1 + random.below(firstSinks)
    : random.choose(['99', '0', '-1', '9007199254740993', '1.5', '1:2', 'x', '\ud800'])
  const type = random.choose(['Sink', 'Sink', 'Sink', 'Sink', 'Sink', 'Delivery', 'Delivery', 'Alert', '__proto__'])
  return random.chance(95) ? Buffer.from(`${type}:${key}`).toString('base64url') : random.choose(['', '%', 'a\0'])
}

function operation(name: string): string {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
  return `mutation ($i: ${type}Input!) { ${name}(input: $i) { __typename ... on UserError { message path } } }`
}

/** The alias says what may not succeed for any caller. */
const toInside = operation('updateWebhook').replace('updateWebhook(', 'inside: updateWebhook(')

/** A filter within `depth` brackets: the limit of selectors is far below 200. */
const nested = (depth: number): object =>
  Array.from({ length: depth }).reduce<object>((inner) => ({ not: inner }), { hasError: true })

function update(random: Random): object {
  return {
    ...(random.chance(50) && { name: random.choose(['hook', '', 'a\0', 'x'.repeat(300), '\ud800', '__proto__']) }),
    ...(random.chance(50) && {
      secret: random.choose(['whsec_', 'whsec_AAAA', '', `whsec_${'A'.repeat(5_000)}`, '\0']),
    }),
    ...(random.chance(50) && { resourceKinds: random.choose([[], ['Pod'], ['\0'], Array(2_000).fill('K')]) }),
    ...(random.chance(50) && { filter: { where: nested(random.choose([0, 1, 4, 9, 200])) } }),
  }
}

export const sinkMutations: readonly {
  readonly query: string
  readonly variables: (random: Random) => RandomRequest['variables']
}[] = [
  ...['pauseSink', 'resumeSink', 'testSink', 'deleteSink'].map((name) => ({
    query: operation(name),
    variables: (random: Random) => ({ i: { id: sinkId(random) } }),
  })),
  { query: operation('redeliver'), variables: (random) => ({ i: { deliveryId: sinkId(random) } }) },
  { query: operation('updateWebhook'), variables: (random) => ({ i: { id: sinkId(random), ...update(random) } }) },
  {
    query: toInside,
    variables: (random) => ({ i: { id: sinkId(random), ...update(random), url: random.choose(insideUrls) } }),
  },
  {
    query: operation('createWebhook'),
    variables: (random) => ({
      i: { name: 'hook', url: outsideUrl, ...update(random), after: random.choose([null, 'begin', '1', '-1', '9e99']) },
    }),
  },
]

const changedSink = /"(Create|Update|Pause|Resume|Test|Delete)(Sink|Webhook)Success"|"RedeliverSuccess"/

/** Sinks are for operators of the whole fleet. */
export function hasChangedSink(text: string): boolean {
  return changedSink.test(text)
}
