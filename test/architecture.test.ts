/** The rules of the layout (docs/architecture.md draws it) and of the length of files. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../src')

const [below, inside] = [
  ['domain', 'platform', 'store'],
  ['feed', 'ingest'],
]

/**
 * The parts of src, from the ground up, and what each may import of the others. What stands on one floor is in one folder. server/ composes all
 * but the programs of persons.
 */
const allowed: Record<string, readonly string[]> = {
  domain: [],
  platform: ['domain'],
  store: ['domain', 'platform'],
  feed: below,
  'ingest/dialects': ['domain', 'platform'],
  ingest: below,
  'ingest/clusters': [...below, ...inside, 'ingest/dialects'],
  'outlets/metrics': [...below, 'feed', 'ingest/dialects', 'ingest/clusters'],
  'outlets/sinks': [...below, 'feed'],
  'outlets/traces': [...below, ...inside, 'outlets/metrics'],
  'outlets/upstream': [...below, 'feed'],
  'api/auth': [...below, 'ingest', 'outlets/metrics'],
  'api/git': [...below, 'api/auth'],
  'api/graphql': [...below, ...inside, 'ingest/dialects', 'outlets/sinks', 'api/auth'],
  // Serves the page, and bundles its documents.
  'api/rest': [
    ...[...below, 'ingest', 'ingest/dialects', 'outlets/metrics', 'outlets/sinks'],
    ...['api/auth', 'api/git', 'api/graphql', 'apps/dashboard'],
  ],
  // Reads what GraphQL shows, with the same filters, and answers as the other routes do.
  'api/export': [...below, 'ingest', 'outlets/sinks', 'api/auth', 'api/graphql', 'api/rest'],
  // Asks in GraphQL.
  'api/mcp': ['domain', 'platform', 'api/auth', 'api/graphql', 'api/rest'],
  // What is the same for a report over HTTP and over MQTT is in api/rest/.
  'api/mqtt': [...below, ...inside, 'ingest/dialects', 'outlets/metrics', 'outlets/sinks', 'api/auth', 'api/rest'],
  // Runs in browsers too.
  'apps/client': [],
  // Runs on devices.
  'apps/device': [],
  // Runs in browsers, uses the public API only, and shows hidden characters as terminals do.
  'apps/dashboard': ['domain', 'apps/client'],
  // `rollcall mcp` has the tools of assistants.
  'apps/cli': ['domain', 'platform', 'server', 'apps/client', 'api/mcp'],
  'apps/simulate': ['domain', 'server', 'apps/client', 'apps/cli'],
}

/** The folders of src, from the ground up. */
const floors = ['domain', 'platform', 'store', 'feed', 'ingest', 'outlets', 'api', 'server', 'apps']

const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'),
)
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const imports = files.flatMap((file) =>
  [...read(file).matchAll(/(?:from|import) '(\.[^']+)'/g)].map(([, path = '']) => ({
    from: file,
    to: relative(root, join(root, dirname(file), path)),
  })),
)
const floorOf = (file: string): string => file.split('/')[0] ?? ''
const partOf = (file: string): string => {
  const part = file.split('/').slice(0, 2).join('/')
  return part in allowed ? part : floorOf(file)
}

/** Groups of files that reach each other by imports (Tarjan's strongly connected components of more than one file). */
function cycles(): string[][] {
  const targets = Map.groupBy(imports, ({ from }) => from)
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  const visit = (file: string): number => {
    let low = order.size
    const own = low
    order.set(file, own)
    stack.push(file)
    for (const { to } of targets.get(file) ?? [])
      if (!order.has(to)) low = Math.min(low, visit(to))
      else if (stack.includes(to)) low = Math.min(low, lowest.get(to) ?? order.get(to) ?? low)
    lowest.set(file, low)
    if (low !== own) return low
    const group = stack.splice(stack.indexOf(file))
    if (group.length > 1) found.push(group)
    return low
  }
  for (const file of files) if (!order.has(file)) visit(file)
  return found
}

/** What each report or question passes. */
const isOnRoad = (file: string): boolean =>
  /^(domain|store|feed|ingest(?!\/clusters)|platform\/(body|limits)|api\/(graphql|rest))\//.test(file)

describe('the layout of src', () => {
  it('has a rule for each part', () => {
    const programs = new Set(['main.ts', 'bin.ts', 'server'])
    const parts = new Set(files.map(partOf)).difference(programs)
    expect([...parts].filter((part) => !(part in allowed))).toEqual([])
    expect(new Set(files.map(floorOf)).difference(new Set([...floors, ...programs]))).toEqual(new Set())
  })

  it('has imports that point towards the domain', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [a, b] = [partOf(from), partOf(to)]
      // They open the database themselves.
      if (/^apps\/(simulate\/demo|cli\/(new-epoch|migrate|rebuild|backup\/restore))\.ts$/.test(from)) return false
      return a !== b && !['server', 'main.ts', 'bin.ts'].includes(a) && !allowed[a]?.includes(b)
    })
    expect(wrong).toEqual([])
  })

  it('has folders that stand on those below them, but that the page is bundled where it is served', () => {
    const up = imports.filter(({ from, to }) => {
      const [a, b] = [floors.indexOf(floorOf(from)), floors.indexOf(floorOf(to))]
      return a >= 0 && a < b && !(from.startsWith('api/rest/page/') && to.startsWith('apps/dashboard/'))
    })
    expect(up).toEqual([])
  })

  it('imports what the configuration attaches in one place, and in the files of its variables', () => {
    const attached: Readonly<Record<string, readonly string[]>> = {
      'api/auth/identity': ['server/config/identity.ts'],
      'api/auth/oidc': ['server/config/api.ts', 'server/config/roles.ts'],
      'api/export': ['server/config/archive.ts'],
      'api/mqtt': ['server/config/mqtt.ts'],
      'outlets/traces': ['server/config/traces.ts'],
      'outlets/upstream': ['server/config/upstream.ts'],
    }
    const dynamic = files.flatMap((file) =>
      [...read(file).matchAll(/import\('(\.[^']+)'\)/g)].map(([, path = '']) => ({
        from: file,
        to: relative(root, join(root, dirname(file), path)),
      })),
    )
    const wrong = Object.entries(attached).flatMap(([folder, variables]) =>
      [...imports, ...dynamic].filter(
        ({ from, to }) =>
          to.startsWith(`${folder}/`) &&
          !from.startsWith(`${folder}/`) &&
          !['server/attachments.ts', ...variables].includes(from),
      ),
    )
    expect(wrong).toEqual([])
  })

  it('has no import cycle, not even of types', () => {
    expect(cycles()).toEqual([])
  })

  it('lets only the writer write', () => {
    const wrong = imports.filter(
      ({ from, to }) => to.startsWith('store/write/') && !['ingest', 'store'].includes(partOf(from)),
    )
    expect(wrong).toEqual([])
  })

  it('has no folder with more files than a reader can hold in mind', () => {
    const folders = Map.groupBy(files, (file) => dirname(file))
    const large = [...folders].filter(([, inside]) => inside.length > 25).map(([folder]) => folder)
    expect(large).toEqual([])
  })

  it('has tests in folders that a reader can hold in mind', () => {
    const tests = readdirSync(join(root, '../test'), { recursive: true, encoding: 'utf8' })
    const folders = Map.groupBy(
      tests.filter((file) => /\.(ts|mjs)$/.test(file) && !file.includes('node_modules')),
      (file) => dirname(file),
    )
    const large = [...folders].filter(([, inside]) => inside.length > 30).map(([folder]) => folder)
    expect(large).toEqual([])
  })

  it('keeps Margo apart from the other dialects', () => {
    const folderOf = (file: string) => /^ingest\/dialects\/(\w+)\//.exec(file)?.[1]
    const wrong = imports.filter(({ from, to }) => {
      const [a, b] = [folderOf(from), folderOf(to)]
      if (a === undefined || b === undefined || a === b) return false
      return a === 'margo' || b === 'margo'
    })
    expect(wrong).toEqual([])
  })

  // Programs of persons (cli, client, simulate, dashboard) ask a server that they chose.
  it('reads the answers of other systems by platform/outbound/ only', () => {
    const asking = [
      ...['api/auth', 'ingest/clusters', 'api/export', 'api/mqtt', 'outlets/sinks', 'outlets/traces'],
      'outlets/upstream',
    ]
    const others = files.filter((file) => asking.includes(partOf(file)))
    const wrong = others.filter((file) => /\b(httpRequest|httpsRequest)\b|\.json\(\)|\bfetch\(/.test(read(file)))
    expect(wrong).toEqual([])
    // Of what this server wrote itself, and of requests.
    const own = [
      'api/auth/oidc/routes.ts',
      'api/auth/oidc/seal.ts',
      'api/export/conditions.ts',
      'api/mqtt/marker.ts',
      'api/mqtt/session.ts',
    ]
    expect(others.filter((file) => read(file).includes('JSON.parse')).toSorted()).toEqual(own)
    expect(others.filter((file) => /\breadJson\b/.test(read(file)))).toEqual([])
  })

  it('keeps SQL in the store', () => {
    const sql = /\b(select .+ from|insert into|update \w+ set|delete from)\b/i
    const outside = files.filter((file) => !file.startsWith('store/') && sql.test(read(file)))
    expect(outside).toEqual([])
  })

  // A server's clock may be an hour off. What decides is the database's, which app.ts hands to each part. The name of a lock file's holder decides nothing.
  it('reads no clock of its own where time decides', () => {
    const reading = files.filter((file) => !file.startsWith('apps/') && /Date\.now\b|new Date\(\)/.test(read(file)))
    // The times of files are those of the machine, and an operator reads since when a process has held the directory.
    expect(reading).toEqual(['api/export/archive/directory.ts', 'store/connection/embedded/lock-file.ts'])
  })

  it('writes JSON for the database by one function, which mends what PostgreSQL cannot read', () => {
    const own = /(session|parameters).*JSON\.stringify|JSON\.stringify.*::json|^\s+JSON\.stringify\(/m
    const wrong = files.filter((file) => file.startsWith('store/') && own.test(readFileSync(join(root, file), 'utf8')))
    expect(wrong).toEqual([])
  })

  // V8 allocates such a function in the old generation, so what it refers to lives until the next full collection. An
  // object of 100 parts with a getter costs 2.3 times as much CPU as with a method, and in a WeakMap 2.0 times as much as
  // in a field.
  it('has no getters in what is made for each question or batch', () => {
    const lasting = ['feed/feed.ts', 'feed/hub.ts', 'ingest/writer.ts', 'store/connection/connection.ts']
    const found = files.filter((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const classes = /^(export )?class .*?^}/gms
      const isAssigned = /\w\.\w+ = (async )?(function|\([^()]*\)( ?: [^=]+)? =>)/.test(text)
      return isOnRoad(file) && (isAssigned || /^\s+get \w+\(\)/m.test(text.replace(classes, '')))
    })
    expect(found.toSorted()).toEqual(lasting)
  })

  // V8 creates an old map for each new generator function, which holds its context until the next full collection.
  it('has no generator functions within functions in what is made for each question or batch', () => {
    // Bulk commands of people and the texts of statements, which are made once.
    const rare = [
      'component-snapshot',
      'declare',
      'declared-documents',
      'devices/register',
      'devices/retire',
      'remove',
    ].map((n) => `ingest/commands/${n}.ts`)
    const found = files.filter((file) => {
      const text = readFileSync(join(root, file), 'utf8').replace(/^(export )?class .*?^}/gms, '')
      return isOnRoad(file) && /^ +(async )?(function\*|\*\w+\()|[=(,:] (async )?function\*/m.test(text)
    })
    expect(found.toSorted()).toEqual([...rare, 'store/sql/record-set.ts'])
  })

  it('needs nothing but itself in the domain', () => {
    const foreign = files
      .filter((file) => file.startsWith('domain/'))
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(/from '([^.'][^']*)'/g)].map(([, m]) => `${file}: ${m}`),
      )
    expect(foreign).toEqual([])
  })
})

describe('the length of files', () => {
  const lengths = files.map((file) => ({ file, lines: read(file).split('\n').length - 1 }))

  it('is at most 300 lines', () => {
    const long = lengths.filter(({ lines }) => lines > 300)
    expect(long).toEqual([])
  })

  it('is at most 300 lines in tests, too', () => {
    const test = join(root, '../test')
    const long = readdirSync(test, { recursive: true, encoding: 'utf8' }).filter(
      (file) =>
        file.endsWith('.ts') &&
        !file.includes('node_modules') &&
        readFileSync(join(test, file), 'utf8').split('\n').length > 301,
    )
    expect(long).toEqual([])
  })

  it('has a median below 100 lines', () => {
    const sorted = lengths.map(({ lines }) => lines).toSorted((a, b) => a - b)
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(100)
  })
})
