/** Exports and sign-in with parameters that are wrong, far away, deep or repeated. */
import type { Random } from './random.ts'

export const exportPaths = ['changes', 'reports', 'deployments', 'devices', 'audit'].flatMap((name) => [
  `/export/${name}`,
  `/export/${name}/manifest`,
])

const times = [
  '1970-01-01T00:00:00Z',
  '0001-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59-23:59',
  '+275760-09-13T00:00:00Z',
  '2026-01-01T00:00:00Z',
  '2026-13-01',
  '1e18',
  '\0',
]
const revisions = [
  'begin',
  '0',
  '1',
  '-1',
  '9007199254740991',
  '9007199254740993',
  '99999999999999999999',
  '1e3',
  'NaN',
]
const cursors = ['1', '0.0', '1.1', '1.1.1', '9007199254740991.9007199254740991', '-1', '.', '1'.repeat(5_000), "1'--"]
const brackets = (depth: number): string => `${'{"not":'.repeat(depth)}{"hasError":true}${'}'.repeat(depth)}`
const wheres = [1, 4, 9, 60, 2_000].map(brackets).concat('{', '[]', 'null', '{"__proto__":{}}', '{"text":"\\u0000"}')
const selectors = [
  'a=b',
  'a!=b',
  'a in (b,c)',
  '!a',
  '(((',
  `a in (${'b,'.repeat(3_000)}c)`,
  'a\0=b',
  '\ud83d=x',
  'a'.repeat(9_000),
]

const values: Readonly<Record<string, readonly string[]>> = {
  format: ['ndjson', 'csv', 'parquet', 'csv\0', 'PARQUET', '../csv', '__proto__'],
  after: cursors,
  upTo: cursors,
  afterRevision: revisions,
  atRevision: revisions,
  asOf: times,
  since: times,
  before: times,
  where: wheres,
  selector: selectors,
  constructor: ['x'],
}

/** Mostly parameters that the exports have, sometimes twice. */
export function exportSearch(random: Random): string {
  const names = Array.from({ length: random.choose([0, 1, 1, 2, 4]) }, () => random.choose(Object.keys(values)))
  return `?${names.map((name) => `${name}=${encodeURIComponent(random.choose(values[name] ?? ['']).toWellFormed())}`).join('&')}`
}

export const signInRoutes: readonly (readonly [methods: string, path: string])[] = [
  ['GET', '/session/oidc'],
  ['GET', '/session/oidc/login?returnTo=//evil.example'],
  ['GET', '/session/oidc/login?returnTo=%2F%5Cevil.example%00'],
  ['GET', `/session/oidc/callback?code=${'x'.repeat(3_000)}&state=%00`],
  ['GET', '/session/oidc/callback?error=x&error_description=%ff&state=a&state=b'],
  ['POST', '/session/oidc/logout'],
  ['POST', '/session/oidc/backchannel'],
  ['POST', '/session/oidc/device'],
  ['POST', '/session/oidc/device/token'],
]
