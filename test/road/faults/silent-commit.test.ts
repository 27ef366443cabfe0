/** The connection to PostgreSQL falls silent with COMMIT on its way: no error comes, and the outcome is unknown. A report is written once all the same. */
import { describe, it, type TestContext } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { expectSound } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { startWire, type Wire, writersCommit } from '../../support/databases/wire.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const path = '/device/edge-1/deployment/d-1/status'
const body = { deploymentId: 'd-1', status: { state: 'installed' }, components: [] }
/** Milliseconds. Less than the slowest statement of the writer may take, and more than a busy machine needs. */
const soon = 30_000

// Each test waits for time-outs, so they wait at the same time.
describe.concurrent.each(postgresStores)('a connection to $name that falls silent at COMMIT', (store) => {
  async function start({ onTestFinished }: TestContext, commit?: number): Promise<{ server: RunningApp; wire: Wire }> {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const wire = await startWire(empty.config.url ?? '')
    onTestFinished(() => wire.close())
    const server = await startApp({
      on: { ...empty, open: () => openDatabase({ url: wire.url, dataDir: 'memory', silence: 1_000 }) },
      timeouts: { ...defaultTimeouts, ...(commit && { commit }) },
    })
    onTestFinished(() => server.stop())
    return { server, wire }
  }

  const written = async (server: RunningApp): Promise<unknown> =>
    server.app.database.session.run(
      `select (select count(*)::int from reports) as reports, (select count(*)::int from change_log where deployment_key is not null) as changes,
         (select max(attempt) from deployments) as attempt`,
    )
  const once = [{ reports: 1, changes: 1, attempt: 1 }]

  it.for(['asked', 'answered'] as const)(
    'when it is %s, is left for another: the report is written once',
    async (when, context) => {
      const { expect } = context
      const { server, wire } = await start(context)
      const isCommit = writersCommit()
      let silenced = 0
      wire.watch((passing) => (isCommit(passing) && passing.moment === when && silenced++ === 0 ? 'silence' : 'pass'))
      const began = performance.now()
      const answer = await server.post(path, body)
      expect(performance.now() - began).toBeLessThan(soon)
      expect(silenced).toBeGreaterThan(0)
      expect([answer.status, (await answer.json()).verdict]).toEqual([201, 'APPLIED'])
      expect(await written(server)).toEqual(once)
      await expectSound(server.app.database)
    },
  )

  it.for([
    ['asked', 'APPLIED'],
    ['answered', 'UNCHANGED'],
  ] as const)('when it is %s, and no other works: 503 soon, and the repeat is %s', async ([when, verdict], context) => {
    const { expect } = context
    const { server, wire } = await start(context, 1_000)
    const isCommit = writersCommit()
    let silenced = 0
    wire.watch((passing) => {
      if (!isCommit(passing) || passing.moment !== when || silenced++ > 0) return 'pass'
      wire.fall()
      return 'silence'
    })
    const began = performance.now()
    const refused = await server.post(path, body)
    expect(performance.now() - began).toBeLessThan(soon)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
    wire.recover()
    let answer = refused
    await expect
      .poll(
        async () => {
          answer = await server.post(path, body)
          return answer.status
        },
        { timeout: 60_000 },
      )
      .toBe(201)
    expect((await answer.json()).verdict).toBe(verdict)
    expect(await written(server)).toEqual(once)
    await expectSound(server.app.database)
  })
})
