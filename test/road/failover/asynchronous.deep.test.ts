/** A standby that was promoted without the newest changes: they are lost, which is said, and nothing else is. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../src/store/open.ts'
import { allRevisions, expectSound } from '../../support/databases/soundness.ts'
import { runOn } from '../../support/databases/standby-pair.ts'
import { hasPatroni } from '../../support/systems/patroni.ts'
import { startCluster, startServers, untilAcknowledged, writableAt } from './harness.ts'

describe.runIf(hasPatroni())('a failover of an asynchronous PostgreSQL', () => {
  it('loses what the standby had not received, tells it to each subscriber, and keeps the rest', async () => {
    const cluster = await startCluster({ isSynchronous: false })
    const server = { env: { DATABASE_URL: cluster.hosts } }
    const { programs, begin, subscribers, fleet } = await startServers([server, server])
    await untilAcknowledged(fleet, 200)
    const primary = await cluster.leader()
    const standby = cluster.nodes.find((node) => node !== primary) ?? expect.unreachable()
    // It would put the setting right.
    standby.freezePatroni()
    await runOn(standby, "alter system set primary_conninfo = ''")
    await runOn(standby, 'select pg_reload_conf()')
    await expect.poll(() => runOn(standby, 'select 1 from pg_stat_wal_receiver')).toEqual([])
    await untilAcknowledged(fleet, 200)
    await primary.kill()
    await runOn(standby, 'alter system reset primary_conninfo')
    standby.thawPatroni()
    await writableAt([standby.url])
    await untilAcknowledged(fleet, 200)
    const played = await fleet.finish()

    const database = await openDatabase({ url: cluster.hosts, dataDir: 'memory' })
    onTestFinished(() => database.close())
    await expectSound(database)
    const revisions = await allRevisions(database.session)
    const lasting = new Set(revisions)
    const kept = await database.session.run<{ reporter: string; seqs: number[] }>(
      `select d.reporter, (select json_agg(r.seq::int order by r.key) from reports r where r.deployment_key = d.key
         and r.verdict = 'APPLIED') as seqs from deployments d`,
    )
    const seqsOf = new Map(kept.map(({ reporter, seqs }) => [reporter, seqs]))
    let lost = 0
    for (const { reporter, outcomes } of played) {
      const seqs = seqsOf.get(reporter) ?? []
      expect(new Set(seqs).size, reporter).toBe(seqs.length)
      outcomes.forEach(({ verdict, revision }, index) => {
        if (verdict !== 'APPLIED') return
        expect(seqs.includes(index + 1), `${reporter} ${index + 1}`).toBe(lasting.has(revision))
        if (!lasting.has(revision)) lost += 1
      })
    }
    expect(lost).toBeGreaterThanOrEqual(200)
    for (const subscriber of subscribers) {
      await expect.poll(() => subscriber.revisions.at(-1)).toBe(revisions.at(-1))
      await subscriber.leave()
      expect(subscriber.resets).toEqual(['CURSOR_EXPIRED'])
      const shown = new Set(subscriber.revisions)
      expect(shown.size).toBe(subscriber.revisions.length)
    }
    expect(programs.map((program) => program.stdout() + program.stderr()).join('')).toMatch(
      /a new epoch begins, and newer cursors expire/,
    )
    expect(begin).toBeGreaterThan(0)
  })
})
