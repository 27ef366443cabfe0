/** A server is killed while it writes and sends live lists: each list goes on from its cursor, and equals the query. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/apps/client/client.ts'
import { transports } from '../graphql/clients.ts'
import { type AnyUpdate, applyAny, liveListOf, withoutIds } from '../graphql/subscriptions/live-list-client.ts'
import { type Store, stores } from '../support/databases/stores.ts'
import { temporaryFolder } from '../support/folder.ts'
import { type Program, startProgram } from '../support/servers/program.ts'
import { groupOf } from '../support/systems/emco.ts'

const fleet = 12
const states = ['installing', 'failed', 'installed'] as const

const lists = [
  {
    ...liveListOf('deployments', 'deploymentId state revision'),
    variables: { filter: { states: ['FAILED', 'INSTALLED'] }, orderBy: 'NAME', first: 5 },
  },
  {
    ...liveListOf('deployments', 'deploymentId state revision components { name state }'),
    variables: { filter: { where: { not: { states: ['FAILED'] } } }, orderBy: 'CHANGED_DESC', first: 4 },
  },
  {
    ...liveListOf('devices', 'deviceId connectivity deploymentCounts { total failed }'),
    variables: { filter: { failing: true }, orderBy: { field: 'NAME' }, first: 4 },
  },
  {
    ...liveListOf('resources', 'name sync revision'),
    variables: { filter: { sync: ['APPLIED'] }, orderBy: { field: 'CHANGED', direction: 'DESC' }, first: 3 },
  },
]

describe.each(stores)('a server on $name that is killed', (store) => {
  it('sends each subscriber of a live list what changed since its cursor, and no list twice', async () => {
    const env = await environment(store)
    const start = (PORT: string): Program => {
      const program = startProgram({ ...env, PORT })
      onTestFinished(() => program.dispose())
      return program
    }
    const first = start('0')
    const url = await first.listening
    const group = groupOf({ url }, { project: 'p', compositeApp: 'ca', compositeAppVersion: 'v1', name: 'killed' })
    await group.act('Created', 'Approved', 'Instantiated 4711')

    const restarted = Promise.withResolvers<void>()
    const followed = lists.map((list, index) => follow(url, list, index, restarted.promise))
    await expect.poll(() => followed.every(({ updates }) => updates.length > 0)).toBe(true)

    let isOver = false
    let acknowledged = 0
    const play = async (act: (turn: number) => Promise<boolean>): Promise<void> => {
      for (let turn = 0; !isOver; turn += 1)
        if (await act(turn).catch(() => false)) acknowledged += 1
        else await restarted.promise
    }
    const devices = Array.from({ length: fleet }, (_, index) =>
      play(async (turn) => {
        const body = {
          deploymentId: `d-${index}`,
          status: { state: states[(turn + index) % states.length] },
          components: [{ name: 'web', state: 'installed' }],
        }
        const response = await fetch(`${url}/device/edge-${index}/deployment/d-${index}/status`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        return response.ok
      }),
    )
    const orchestrator = play(async (turn) => {
      const status = turn % 3 === 0 ? 'Failed' : 'Applied'
      await group.apply('4711', [{ name: `r-${turn % 7}`, status }])
      return true
    })
    const latest = () => followed.map(({ updates }) => updates.length)
    const before = latest()
    await expect.poll(() => latest().every((count, index) => count > (before[index] ?? 0) + 3)).toBe(true)
    first.child.kill('SIGKILL')
    expect(await first.ended).toBe('SIGKILL')
    await start(new URL(url).port).listening
    restarted.resolve()
    const seen = acknowledged
    await expect.poll(() => acknowledged).toBeGreaterThan(seen + 20)
    isOver = true
    await Promise.all([...devices, orchestrator])

    for (const [index, { updates, rows }] of followed.entries()) {
      const { query, variables } = lists[index] ?? expect.unreachable()
      const present = async () => {
        const { list } = await connect({ url }).query<Queried>(query, variables)
        return list.nodes
      }
      const nodes = await present()
      expect(nodes.length).toBeGreaterThan(0)
      await expect.poll(() => withoutIds(rows())).toEqual(nodes)
      expect(updates.filter(({ isSnapshot }) => isSnapshot)).toEqual([updates[0]])
      expect(updates.filter(({ reset }) => reset !== null)).toEqual([])
      const cursors = updates.map(({ cursor }) => Number(cursor))
      expect(cursors).toEqual(cursors.toSorted((a, b) => a - b))
    }
  })
})

interface Queried {
  readonly list: { readonly nodes: readonly object[] }
}

async function environment(store: Store): Promise<Record<string, string>> {
  if (store.name === 'PGlite') return { DATA_DIR: temporaryFolder() }
  const { config, drop } = await store.create()
  onTestFinished(drop)
  return { DATABASE_URL: config.url ?? '' }
}

/** Resumes once, when the server has restarted. */
function follow(
  url: string,
  { subscription, variables }: (typeof lists)[number],
  index: number,
  restarted: Promise<void>,
) {
  const updates: AnyUpdate[] = []
  let rows: ReturnType<typeof applyAny> = []
  const read = async (): Promise<void> => {
    const after = updates.at(-1)?.cursor
    const transport = transports[index % transports.length] ?? expect.unreachable()
    const stream = transport.watch(`${url}/graphql`, subscription, { ...variables, after })
    onTestFinished(() => stream.close())
    for (;;) {
      const { list: update } = await stream.data()
      updates.push(update)
      rows = applyAny(rows, update)
    }
  }
  // A stream ends only when its server or its test does.
  void read()
    .catch(() => restarted)
    .then(read)
    .catch(() => undefined)
  return { updates, rows: () => rows }
}
