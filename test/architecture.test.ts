/** The map of src/ in STYLE's sense: which stage may import which. Imports point towards domain/. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../src')

const allowed: Record<string, readonly string[]> = {
  domain: [],
  limits: ['domain'],
  readiness: ['domain'],
  dialects: ['domain', 'limits', 'readiness'],
  store: ['domain', 'ingest'],
  ingest: ['domain', 'readiness', 'store'],
  feed: ['domain', 'store'],
  sinks: ['domain', 'store', 'feed'],
  clusters: ['domain', 'store', 'feed', 'ingest', 'dialects'],
  git: ['domain', 'limits', 'store', 'auth'],
  auth: ['domain', 'store', 'ingest'],
  graphql: ['domain', 'limits', 'dialects', 'store', 'feed', 'ingest', 'sinks', 'auth'],
  // Serves the page, and puts its documents together as it does.
  rest: ['domain', 'limits', 'store', 'ingest', 'dialects', 'graphql', 'sinks', 'auth', 'git', 'dashboard'],
  cli: ['domain', 'store', 'root'],
  // Runs in browsers, and knows the server by its public API only.
  dashboard: [],
  simulate: ['cli', 'domain', 'store', 'root'],
}

/** What only the writer's side may import: everything else reads. */
const writes = [
  'store/save.ts',
  'store/save-profile.ts',
  'store/load.ts',
  'store/housekeeping.ts',
  'store/stalling.ts',
  'store/tokens.ts',
  'store/save-api-access.ts',
  'store/load-desired.ts',
  'store/save-desired.ts',
]

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'),
)
const imports = files.flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) => ({
    from: file,
    to: relative(root, join(root, dirname(file), path)),
  })),
)
const stageOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : 'root')

describe('the layout of src', () => {
  it('is the one that is drawn here', () => {
    const stages = new Set(files.map(stageOf))
    stages.delete('root')
    expect([...stages].filter((stage) => !(stage in allowed))).toEqual([])
  })

  it('has imports that point towards the domain', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [a, b] = [stageOf(from), stageOf(to)]
      if (a === 'root' || a === b) return false
      // Cross-cutting and pure: the log's and the metrics' interfaces, and what is kept on objects.
      // demo.ts is a program that composes a whole server, as main.ts is.
      if (b === 'root')
        return !['log.ts', 'metrics.ts', 'config.ts', 'attachment.ts'].includes(to) && from !== 'simulate/demo.ts'
      return !allowed[a]?.includes(b)
    })
    expect(wrong).toEqual([])
  })

  it('lets only the writer write', () => {
    const wrong = imports.filter(
      ({ from, to }) => writes.includes(to) && stageOf(from) !== 'ingest' && stageOf(from) !== 'store',
    )
    expect(wrong).toEqual([])
  })

  it('keeps SQL in the store', () => {
    const sql = /\b(select .+ from|insert into|update \w+ set|delete from)\b/i
    const outside = files.filter(
      (file) => !file.startsWith('store/') && sql.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(outside).toEqual([])
  })

  // V8 allocates such a function among the old: what it refers to, all of a question or a batch, is kept until the next full collection.
  it('has no getters in what is made for each question or batch', () => {
    const lasting = ['feed/feed.ts', 'feed/hub.ts', 'ingest/writer.ts', 'store/connection.ts']
    const road = ['dialects', 'domain', 'feed', 'graphql', 'ingest', 'limits', 'rest', 'store']
    const found = files.filter((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const classes = /^(export )?class .*?^}/gms
      const isAssigned = /\w\.\w+ = (async )?(function|\([^()]*\)( ?: [^=]+)? =>)/.test(text)
      return road.includes(stageOf(file)) && (isAssigned || /^\s+get \w+\(\)/m.test(text.replace(classes, '')))
    })
    expect(found.toSorted()).toEqual(lasting)
  })

  it('needs nothing but itself in the domain', () => {
    const foreign = files
      .filter((file) => file.startsWith('domain/') || file.startsWith('readiness/'))
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(/from '([^.'][^']*)'/g)].map(([, m]) => `${file}: ${m}`),
      )
    expect(foreign).toEqual([])
  })
})
