/** What must hold of a database after any fault, whatever happened meanwhile. */
import { expect } from 'vitest'
import type { Change } from '../../../src/domain/change.ts'
import type { Component, DeploymentImage } from '../../../src/domain/deployment.ts'
import { type FoldableEntry, imageAt } from '../../../src/domain/fold.ts'
import { readRange } from '../../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../../src/store/database.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { type DeploymentRecord, toDeployment } from '../../../src/store/sql/rows.ts'
import { attemptOf, type Played } from '../clients/fleet.ts'

/** Every revision there should be, oldest first. */
export async function allRevisions(session: Session): Promise<number[]> {
  const { head, epochs } = await readRange(session)
  return epochs.flatMap(({ base, ended }) => revisionsBetween(base, ended ?? head.revision))
}

export function revisionsBetween(after: number, until: number): number[] {
  return Array.from({ length: until - after }, (_, n) => after + n + 1)
}

/** One part of a log is bounded. */
async function wholeLog(session: Session): Promise<Change[]> {
  const log: Change[] = []
  for (;;) {
    const part = await readLog(session, log.at(-1)?.revision ?? 0, 1_000_000)
    if (part.length === 0) return log
    log.push(...part)
  }
}

/** The log has no hole, the state is its fold, and every counter equals a recount. */
export async function expectSound(database: Database): Promise<void> {
  const snapshot = await database.snapshot()
  try {
    const log = await wholeLog(snapshot)
    expect(log.map(({ revision }) => revision)).toEqual(await allRevisions(snapshot))
    const folded = new Map<number, DeploymentImage | null>()
    for (const change of log) {
      const { deploymentKey: key, targetKey, rolloutKey, revision } = change
      if (key === null || targetKey === null || rolloutKey === null) continue
      const entry: FoldableEntry = { ...change, targetKey, rolloutKey, firstRevision: revision, changes: [change] }
      folded.set(key, imageAt(folded.get(key) ?? null, entry, revision))
    }
    const rows = (await snapshot.run<DeploymentRecord>('select * from deployments')).map(toDeployment)
    expect(rows.map(({ key }) => key).toSorted()).toEqual([...folded.keys()].toSorted())
    for (const row of rows) expect(row).toMatchObject(withoutClock(folded.get(row.key)))
    expect(await audit(snapshot)).toEqual([])
  } finally {
    await snapshot.close()
  }
}

/** Every acknowledged report is kept exactly once, at the revision that was acknowledged, and opened no attempt by itself. */
export async function expectKept(database: Database, played: readonly Played[]): Promise<void> {
  const kept = await database.session.run<{
    reporter: string
    state: string
    attempt: number
    repeats: number
    seqs: number[]
    revisions: number[]
    components: Component[]
  }>(
    `select d.reporter, d.state, d.attempt, d.repeats, d.components, k.seqs, k.revisions from deployments d cross join lateral (
       select json_agg(r.seq::int order by r.key) as seqs, json_agg(r.revision order by r.key) as revisions
       from reports r where r.deployment_key = d.key and r.verdict = 'APPLIED') k`,
  )
  const byReporter = new Map(kept.map((row) => [row.reporter, row]))
  expect([...byReporter.keys()].toSorted()).toEqual(played.map(({ reporter }) => reporter).toSorted())
  for (const { reporter, outcomes } of played) {
    const { seqs, revisions, attempt, repeats } = byReporter.get(reporter) ?? expect.unreachable()
    expect(seqs, reporter).toEqual(outcomes.map((_, n) => n + 1))
    expect(attempt, reporter).toBe(attemptOf(outcomes.length))
    // A device that lost the answer and repeated the report got UNCHANGED.
    expect(outcomes.map(({ verdict }) => verdict)).not.toContain('STALE')
    expect(outcomes.map(({ verdict, revision }, n) => (verdict === 'APPLIED' ? revision : revisions[n]))).toEqual(
      revisions,
    )
    expect(repeats, reporter).toBeGreaterThanOrEqual(outcomes.filter(({ verdict }) => verdict === 'UNCHANGED').length)
  }
}

/** Each change knows only its own time. */
function withoutClock(image: DeploymentImage | null | undefined): object {
  const { reportedAt: _, ...rest } = image ?? expect.unreachable()
  return rest
}
