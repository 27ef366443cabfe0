/** Bodies that are nearly right: valid ones of every dialect, with parts replaced, removed, repeated, cut or grown. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from './random.ts'

const folder = join(import.meta.dirname, '../../fixtures')

const fixtures = (dialect: string): string[] =>
  readdirSync(join(folder, dialect)).map((name) => readFileSync(join(folder, dialect, name), 'utf8'))
const documents = fixtures('desired-state').filter((text) => !text.startsWith('{'))

const small: Readonly<Record<string, readonly object[]>> = {
  emco: [
    { State: 'Instantiated', ContextId: 'c-1', TimeStamp: '2026-01-01T00:00:00Z' },
    { Actions: [{ State: 'Created' }, { State: 'Approved' }, { State: 'Instantiated', ContextId: 'c-2' }] },
    { resources: [{ app: 'a', cluster: 'p+c', GVK: { Group: '', Version: 'v1', Kind: 'Pod' }, name: 'n' }] },
    { connectivity: 'available' },
  ],
  k8splugin: [
    { resourcesStatus: [{ name: 'n', GVK: { Group: 'apps', Version: 'v1', Kind: 'Deployment' }, status: {} }] },
    { name: 's', 'callback-url': 'http://127.0.0.1:9/', 'min-notify-interval': 10, metadata: { n: 12 } },
    { instanceId: 'i-1', cloudRegion: 'r', cloudOwner: 'o', tenantId: 't', callbackUrl: 'http://127.0.0.1:9/' },
  ],
  margo: [
    { deploymentId: 'd-1', status: { state: 'installed' }, components: [{ name: 'web', state: 'failed' }] },
    { reports: [{ deviceId: 'edge-7', deploymentId: 'd-1', status: { state: 'installing' }, components: [] }] },
    { apiVersion: 'device.margo/v1', kind: 'DeviceCapabilitiesManifest', properties: { id: 'edge-7', roles: ['x'] } },
  ],
}
/** Texts of `{ body }`, by the dialect whose routes take them: the small ones more often. */
const bodies = new Map(
  Object.entries(small).map(([dialect, own]) => {
    const texts = own.map((body) => JSON.stringify(body))
    return [dialect, [...texts, ...texts, ...texts, ...fixtures(dialect)].map((text) => `{"body":${text}}`)]
  }),
)
const all = [...bodies.values()].flat()
const oneReport = JSON.stringify({
  body: { deviceId: 'edge-7', deploymentId: 'd-1', status: { state: 'installed' }, components: [] },
})

const leaves: readonly unknown[] = [
  ...[
    '',
    ' ',
    '0',
    'installed',
    'FAILED',
    'Applied',
    'edge-1',
    'gw/child',
    '__proto__',
    '{ __typename }',
    '../..',
    '%00',
  ],
  ...['\0', '\ud800', '\udc00x', '\ufeffedge-1', '\u202e', '😀'.repeat(300), 'x'.repeat(257)],
  ...['2026-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '1e400', '18446744073709551616', '-1', 'NaN'],
  ...[null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, Number.MAX_SAFE_INTEGER, -0],
]
const names = [
  'name',
  'status',
  'state',
  'error',
  'code',
  'metadata',
  'seq',
  'kind',
  '__proto__',
  'constructor',
  'then',
]

function anything(random: Random, depth = 4): unknown {
  if (random.chance(1)) return 'x'.repeat(70_000)
  const kind = depth === 0 ? 0 : random.below(4)
  if (kind <= 1) return random.choose(leaves)
  const size = random.choose([0, 1, 2, 5])
  if (kind === 2) return Array.from({ length: size }, () => anything(random, depth - 1))
  return Object.fromEntries(Array.from({ length: size }, () => [random.choose(names), anything(random, depth - 1)]))
}

interface Place {
  readonly holder: Record<string, unknown>
  readonly name: string
}

/** Some way down from `value`: to look for all places first would cost more than all else. */
function randomPlace(random: Random, value: object): Place {
  const holder = value as Record<string, unknown>
  const name = random.choose(Object.keys(holder))
  const inner = holder[name]
  const isEnd = typeof inner !== 'object' || inner === null || Object.keys(inner).length === 0
  return isEnd || random.chance(25) ? { holder, name } : randomPlace(random, inner)
}

/** A copy with up to four of its parts changed. `text`: of `{ body }`. */
function mutated(random: Random, text: string): unknown {
  const copy = JSON.parse(text) as { body?: unknown }
  for (let edits = random.below(5); edits > 0 && 'body' in copy; edits -= 1) {
    const { holder, name } = randomPlace(random, copy)
    const kind = random.choose(['drop', 'repeat', 'add', 'swap', 'replace', 'replace'])
    if (kind === 'drop') delete holder[name]
    else if (kind === 'repeat') holder[name] = repeated(random, holder[name])
    else if (kind === 'add') holder[`${name}${random.choose(['', ' ', '\0', '2'])}`] = anything(random)
    else if (kind === 'swap') holder[name] = copied(randomPlace(random, copy))
    else holder[name] = anything(random)
  }
  return copy.body
}

/** A reference could make a circle. */
const copied = ({ holder, name }: Place): unknown => structuredClone(holder[name])

/** Characters of a repeated part. */
const mostRepeated = 200_000

/** Many of what is small, few of what is large. Copies: a later change of one that is shared would change all, and be repeated as often. */
function repeated(random: Random, value: unknown): unknown[] {
  const { length } = JSON.stringify(value) ?? ''
  const count = random.chance(5) ? 400 : 20
  return Array.from({ length: Math.max(2, Math.min(count, Math.floor(mostRepeated / (length + 1)))) }, () =>
    structuredClone(value),
  )
}

export interface Body {
  readonly type: string
  readonly bytes: Buffer
}

const types = ['application/json', 'application/x-ndjson', 'application/yaml', 'text/plain', 'application/graphql', '']

/** What a route of that dialect would take, nearly. */
export function randomBody(random: Random, dialect: string): Body {
  const value = mutated(random, random.choose(random.chance(90) ? (bodies.get(dialect) ?? all) : all))
  if (random.chance(4))
    return { type: 'application/yaml', bytes: broken(random, Buffer.from(random.choose(documents))) }
  if (random.chance(4)) return { type: 'application/x-ndjson', bytes: lines(random) }
  if (random.chance(2)) return { type: 'application/json', bytes: Buffer.from(deep(random)) }
  const bytes = Buffer.from(JSON.stringify(value) ?? '')
  return {
    type: random.chance(96) ? 'application/json' : random.choose(types),
    bytes: random.chance(6) ? broken(random, bytes) : bytes,
  }
}

function lines(random: Random): Buffer {
  const items = Array.from({ length: random.choose([1, 3, 60]) }, () => JSON.stringify(mutated(random, oneReport)))
  return Buffer.from(items.join(random.choose(['\n', '\r\n', '\n\n'])))
}

function deep(random: Random): string {
  const depth = random.choose([20, 100, 5_000])
  const [open, close] = random.choose([
    ['[', ']'],
    ['{"status":', '}'],
    ['{"components":[', ']}'],
  ] as const)
  return `{"reports":[${open.repeat(depth)}1${close.repeat(random.chance(80) ? depth : depth - 1)}]}`
}

/** Bytes gone, doubled, replaced or inserted. */
function broken(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1)
  const inserted = Buffer.from([random.below(256), random.below(256)])
  const rest = bytes.subarray(at + random.choose([0, 0, 1, 3, bytes.length]))
  return Buffer.concat([bytes.subarray(0, at), random.chance(70) ? inserted : Buffer.alloc(0), rest])
}
