/** PostgreSQL crashes and comes back while two replicas write and each has a subscriber: nothing is lost, duplicated or skipped. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Revision } from '../../src/domain/values.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { openDatabase } from '../../src/store/open.ts'
import { audit } from '../../src/store/read/counts/audit.ts'
import { report } from '../support/clients/reports.ts'
import { findPostgres, startPostgres } from '../support/databases/postgres-server.ts'
import { createRoad, type Road } from '../support/servers/road.ts'

const crashes = 3
const fleet = 40

/** A device that reports state after state, each until it is acknowledged. */
async function play(road: Road, name: string, isOver: () => boolean): Promise<number> {
  const states = ['INSTALLING', 'INSTALLED', 'REMOVING'] as const
  for (let seq = 1; ; seq += 1) {
    const state = states[seq % states.length] ?? 'INSTALLED'
    const command = recordReport(
      report({ reporter: name, deploymentId: `of-${name}`, state, seq: String(seq), boot: 'b' }),
    )
    for (let isAcknowledged = false; !isAcknowledged; ) {
      isAcknowledged = await road.writer.submit(command).then(
        () => true,
        async (error: { code?: string }) => {
          if (error.code !== 'UNAVAILABLE') throw error
          await new Promise((resolve) => setTimeout(resolve, 20))
          return false
        },
      )
    }
    if (isOver()) return seq
  }
}

describe.skipIf(!findPostgres())('a crash of PostgreSQL in the middle of batches', () => {
  it('costs no report, doubles none, and leaves no hole for any subscriber', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.dispose())
    const roads: Road[] = []
    for (let n = 0; n < 2; n += 1)
      roads.push(
        await createRoad(await openDatabase({ url: server.url, dataDir: 'memory' }), {
          writer: { commitTimeout: 60_000 },
        }),
      )
    onTestFinished(async () => void (await Promise.all(roads.map((road) => road.close()))))
    const [one = expect.unreachable()] = roads
    const start = (await readHead(one.database.session)).revision
    const heard = roads.map((road) => listen(road, start))

    let isOver = false
    const devices = Array.from({ length: fleet }, (_, n) => play(roads[n % 2] ?? one, `edge-${n}`, () => isOver))
    for (let n = 1; n <= crashes; n += 1) {
      // In the middle of what they write: some batches have been seen since the last crash.
      const before = heard[0]?.revisions.length ?? 0
      await expect.poll(() => heard[0]?.revisions.length).toBeGreaterThan(before + 50)
      await server.stop('immediate')
      await server.start()
    }
    isOver = true
    const last = await Promise.all(devices)

    const head = await readHead(one.database.session)
    for (const { revisions, ended } of heard) {
      await expect.poll(() => revisions.at(-1)).toBe(head.revision)
      expect(revisions).toEqual(Array.from({ length: head.revision - start }, (_, n) => start + n + 1))
      await ended()
    }
    const rows = await one.database.session.run<{ name: string; seqs: string[]; repeats: number }>(
      `select d.reporter as name, d.repeats, (select json_agg(r.seq::text order by r.key) from reports r
         where r.deployment_key = d.key and r.verdict = 'APPLIED') as seqs from deployments d`,
    )
    expect(rows).toHaveLength(fleet)
    for (const { name, seqs } of rows) {
      const reported = last[Number(name.slice('edge-'.length))] ?? 0
      expect(seqs).toEqual(Array.from({ length: reported }, (_, n) => String(n + 1)))
    }
    const snapshot = await one.database.snapshot()
    expect(await audit(snapshot)).toEqual([])
    await snapshot.close()
  })
})

function listen(road: Road, after: Revision): { readonly revisions: Revision[]; ended(): Promise<void> } {
  const stream = road.changes({ filter: {}, after })
  const revisions: Revision[] = []
  const following = (async () => {
    for await (const { change, reset } of stream) {
      if (reset) throw new Error(`the stream was reset: ${reset}`)
      if (change) revisions.push(change.revision)
    }
  })()
  following.catch(() => {})
  return {
    revisions,
    async ended() {
      await stream.return?.()
      await following
    },
  }
}
