/** The rules of the layout (docs/architecture.md draws it) and of the length of files. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../src')

/** Imports point towards `domain/`. */
const allowed: Record<string, readonly string[]> = {
  domain: [],
  limits: ['domain'],
  readiness: ['domain'],
  dialects: ['domain', 'limits', 'readiness'],
  // Requests to other systems, and their answers.
  outbound: ['domain', 'limits', 'dialects'],
  store: ['domain', 'limits'],
  ingest: ['domain', 'limits', 'readiness', 'store'],
  feed: ['domain', 'limits', 'store'],
  sinks: ['domain', 'store', 'feed', 'outbound'],
  clusters: ['outbound', 'domain', 'limits', 'store', 'feed', 'ingest', 'dialects'],
  git: ['domain', 'limits', 'store', 'auth'],
  auth: ['domain', 'limits', 'store', 'ingest', 'outbound'],
  graphql: ['domain', 'limits', 'dialects', 'store', 'feed', 'ingest', 'sinks', 'auth'],
  // Serves the page, and bundles its documents.
  rest: ['domain', 'limits', 'store', 'ingest', 'dialects', 'graphql', 'sinks', 'auth', 'git', 'dashboard'],
  // Reads what GraphQL shows, with the same filters, and answers as the other routes do.
  export: ['domain', 'limits', 'store', 'ingest', 'graphql', 'sinks', 'auth', 'rest', 'outbound'],
  // What is the same for a report over HTTP and over MQTT is in rest/.
  mqtt: ['domain', 'limits', 'store', 'feed', 'ingest', 'dialects', 'sinks', 'auth', 'rest'],
  // What traces requests surrounds the writer and the execution of operations.
  traces: ['domain', 'store', 'feed', 'dialects', 'ingest', 'graphql', 'outbound'],
  // Runs in browsers too.
  client: [],
  cli: ['client', 'domain', 'store', 'root'],
  // Runs in browsers and uses the public API only.
  dashboard: ['client'],
  simulate: ['client', 'cli', 'domain', 'store', 'root'],
}

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
/** The composition root: the files of src itself, what it is configured with, what logs and measures it, and what it shares. */
const stageOf = (file: string): string =>
  /^(?:(?:config|log|metrics|process|timing)\/)?[^/]+$/.test(file) ? 'root' : (file.split('/')[0] ?? '')

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

describe('the layout of src', () => {
  it('has a rule for each stage', () => {
    const stages = new Set(files.map(stageOf))
    stages.delete('root')
    expect([...stages].filter((stage) => !(stage in allowed))).toEqual([])
  })

  it('has imports that point towards the domain', () => {
    const wrong = imports.filter(({ from, to }) => {
      const [a, b] = [stageOf(from), stageOf(to)]
      if (a === 'root' || a === b) return false
      // The log's, the metrics' and the configuration's interfaces, time limits, pauses and rounds are shared. demo.ts and new-epoch.ts are programs, as main.ts is.
      if (b === 'root')
        return (
          !['log/log.ts', 'metrics/metrics.ts', 'config/config.ts'].includes(to) &&
          !to.startsWith('timing/') &&
          !['simulate/demo.ts', 'cli/new-epoch.ts'].includes(from)
        )
      return !allowed[a]?.includes(b)
    })
    expect(wrong).toEqual([])
  })

  it('imports what the configuration attaches in one place, and in the files of its variables', () => {
    const attached: Readonly<Record<string, readonly string[]>> = {
      'auth/oidc': ['config/api.ts', 'config/roles.ts'],
      export: ['config/archive.ts'],
      mqtt: ['config/mqtt.ts'],
      traces: ['config/traces.ts'],
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
          !['attachments.ts', ...variables].includes(from),
      ),
    )
    expect(wrong).toEqual([])
  })

  it('has no import cycle, not even of types', () => {
    expect(cycles()).toEqual([])
  })

  it('lets only the writer write', () => {
    const wrong = imports.filter(
      ({ from, to }) => to.startsWith('store/write/') && !['ingest', 'store'].includes(stageOf(from)),
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

  it('keeps Margo apart from the other dialects, and what they share from each', () => {
    const folderOf = (file: string) => /^dialects\/(\w+)\//.exec(file)?.[1]
    const wrong = imports.filter(({ from, to }) => {
      const [a, b] = [folderOf(from), folderOf(to)]
      if (a === undefined || b === undefined || a === b) return false
      return a === 'body' || b === 'margo' || (a === 'margo' && b !== 'body')
    })
    expect(wrong).toEqual([])
  })

  // Programs of persons (cli, client, simulate, dashboard) ask a server that they chose.
  it('reads the answers of other systems by outbound/ only', () => {
    const asking = ['auth', 'clusters', 'export', 'mqtt', 'sinks', 'traces']
    const others = files.filter((file) => asking.includes(stageOf(file)))
    const wrong = others.filter((file) => /\b(httpRequest|httpsRequest)\b|\.json\(\)|\bfetch\(/.test(read(file)))
    expect(wrong).toEqual([])
    // Of what this server wrote itself, and of requests.
    const own = [
      'auth/oidc/routes.ts',
      'auth/oidc/seal.ts',
      'export/conditions.ts',
      'mqtt/marker.ts',
      'mqtt/session.ts',
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
    const outside = ['client', 'cli', 'simulate', 'dashboard']
    const reading = files.filter(
      (file) => !outside.includes(stageOf(file)) && /Date\.now\b|new Date\(\)/.test(read(file)),
    )
    // The times of files are those of the machine, and an operator reads since when a process has held the directory.
    expect(reading).toEqual(['export/archive/directory.ts', 'store/connection/embedded/lock-file.ts'])
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
    const road = ['dialects', 'domain', 'feed', 'graphql', 'ingest', 'limits', 'rest', 'store']
    const found = files.filter((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const classes = /^(export )?class .*?^}/gms
      const isAssigned = /\w\.\w+ = (async )?(function|\([^()]*\)( ?: [^=]+)? =>)/.test(text)
      return road.includes(stageOf(file)) && (isAssigned || /^\s+get \w+\(\)/m.test(text.replace(classes, '')))
    })
    expect(found.toSorted()).toEqual(lasting)
  })

  // V8 creates an old map for each new generator function, which holds its context until the next full collection.
  it('has no generator functions within functions in what is made for each question or batch', () => {
    // Bulk commands of people and the texts of statements, which are made once.
    const rare = ['component-snapshot', 'declare', 'devices/register', 'devices/retire', 'remove'].map(
      (n) => `ingest/commands/${n}.ts`,
    )
    const road = ['dialects', 'domain', 'feed', 'graphql', 'ingest', 'limits', 'rest', 'store']
    const found = files.filter((file) => {
      const text = readFileSync(join(root, file), 'utf8').replace(/^(export )?class .*?^}/gms, '')
      return road.includes(stageOf(file)) && /^ +(async )?(function\*|\*\w+\()|[=(,:] (async )?function\*/m.test(text)
    })
    expect(found.toSorted()).toEqual([...rare, 'store/sql/record-set.ts'])
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
