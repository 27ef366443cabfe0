/**
 * The server that one would write first: each report is a transaction of its own through drizzle, on the same tables, with the
 * same log, reports and counters. Numbers come from sequences, and the one row that every report counts in is locked last.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { and, eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import type { Component } from '../../../src/domain/deployment.ts'
import type { StatusReport } from '../../../src/domain/report.ts'
import { implicitRollout, rolloutUniqueName } from '../../../src/domain/rollout.ts'
import { noMarks } from '../../../src/domain/transition/order.ts'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { parseMargoBody } from '../../../src/ingest/dialects/margo/parse.ts'
import { statusRoutes } from '../../../src/ingest/dialects/margo/routes.ts'
import { createRouter } from '../../../src/ingest/dialects/router.ts'
import { changeLog, deployments, logHead, reports, rollouts, targets } from '../../../src/store/tables/schema.ts'
import { listen } from '../harness/listen.ts'

const matchMargoRoute = createRouter(statusRoutes)

const client = postgres(process.env.DATABASE_URL ?? '', { max: 16, onnotice: () => {} })
const db = drizzle(client)
await client`create sequence if not exists naive_keys`
await client`create sequence if not exists naive_revisions`

type Transaction = Parameters<Parameters<typeof db.transaction>[0]>[0]

async function next(tx: Transaction, sequence: string): Promise<number> {
  const [row] = await tx.execute<{ value: string }>(sql`select nextval(${sequence}) as value`)
  return Number(row?.value)
}

const columns = {
  PENDING: 'pending',
  INSTALLING: 'installing',
  INSTALLED: 'installed',
  FAILED: 'failed',
  REMOVING: 'removing',
  REMOVED: 'removed',
} as const

function move(table: typeof logHead | typeof rollouts, from: DeploymentState | null, to: DeploymentState) {
  const counts = { [columns[to]]: sql`${table[columns[to]]} + 1` }
  return from ? { ...counts, [columns[from]]: sql`${table[columns[from]]} - 1` } : counts
}

/** The columns of times are typed as the milliseconds that rows have. Statements take text. */
function timestamp() {
  return sql`${new Date().toISOString()}`
}

async function createPlace(tx: Transaction, report: StatusReport): Promise<{ targetKey: number; rolloutKey: number }> {
  const now = timestamp()
  const [target] = await tx
    .insert(targets)
    .values({
      key: await next(tx, 'naive_keys'),
      kind: 'DEVICE',
      name: report.reporter,
      lastHeardAt: now,
      createdRevision: 0,
    })
    .onConflictDoUpdate({ target: [targets.kind, targets.provider, targets.name], set: { lastHeardAt: now } })
    .returning({ key: targets.key })
  const rollout = implicitRollout(report.deploymentId)
  const [{ key: rolloutKey } = { key: 0 }] = await tx
    .insert(rollouts)
    .values({
      ...rollout,
      key: await next(tx, 'naive_keys'),
      identity: rolloutUniqueName(rollout),
      ...{
        createdRevision: 0,
        createdAt: now,
        activityRevision: 0,
        activityAt: now,
        changedRevision: 0,
        changedAt: now,
      },
    })
    .onConflictDoUpdate({ target: [rollouts.kind, rollouts.identity], set: { name: rollout.name } })
    .returning({ key: rollouts.key })
  return { targetKey: target?.key ?? 0, rolloutKey }
}

function record(report: StatusReport): Promise<number> {
  return db.transaction(async (tx) => {
    const now = timestamp()
    const [known] = await tx
      .select()
      .from(deployments)
      .where(and(eq(deployments.deploymentId, report.deploymentId), eq(deployments.reporter, report.reporter)))
      .for('update')
    const place = known ?? (await createPlace(tx, report))
    if (known) await tx.update(targets).set({ lastHeardAt: now }).where(eq(targets.key, known.targetKey))
    const revision = await next(tx, 'naive_revisions')
    const key = known?.key ?? (await next(tx, 'naive_keys'))
    const components: Component[] = report.components.map(({ name, state, error }) => ({
      name,
      state,
      error,
      changedAt: Date.now(),
      revision,
    }))
    const reported = {
      state: report.state,
      derivedState: report.state,
      consistent: true,
      error: report.error,
      components,
      changedAt: now,
      receivedAt: now,
      revision,
    }
    const created = { key, deploymentId: report.deploymentId, reporter: report.reporter, claimed: true, attempt: 1 }
    if (known) await tx.update(deployments).set(reported).where(eq(deployments.key, key))
    else
      await tx.insert(deployments).values({
        ...created,
        targetKey: place.targetKey,
        rolloutKey: place.rolloutKey,
        ...reported,
        marks: noMarks,
      })
    await tx.insert(changeLog).values({
      firstRevision: revision,
      lastRevision: revision,
      at: now,
      deploymentKey: key,
      targetKey: place.targetKey,
      rolloutKey: place.rolloutKey,
      before: known ?? null,
      foundByChanged: known === undefined,
      changes: [
        {
          kind: 'DEPLOYMENT_STATE_CHANGED',
          from: known?.state ?? null,
          to: report.state,
          error: report.error,
          attempt: 1,
          adoptedManifestVersion: report.adoptedManifestVersion,
        },
        ...components.map(({ name, state, error }) => ({
          kind: 'COMPONENT_STATE_CHANGED' as const,
          component: name,
          from: known?.components.find((component) => component.name === name)?.state ?? null,
          to: state,
          error,
        })),
      ],
    })
    await tx.insert(reports).values({
      deploymentKey: key,
      key: await next(tx, 'naive_keys'),
      verdict: 'APPLIED',
      receivedAt: now,
      state: report.state,
      error: report.error,
      revision,
      dialect: report.dialect,
    })
    const from = known?.state ?? null
    await tx
      .update(rollouts)
      .set(move(rollouts, from, report.state))
      .where(eq(rollouts.key, place.rolloutKey))
    await tx.update(logHead).set(move(logHead, from, report.state))
    return revision
  })
}

async function take(request: IncomingMessage): Promise<{ status: number; body: string }> {
  const route = matchMargoRoute(request.url ?? '')
  if (!route) return { status: 404, body: '{}' }
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const revision = await record(parseMargoBody(JSON.parse(Buffer.concat(chunks).toString()), route))
  const body = JSON.stringify({ acknowledgement: 'received', verdict: 'APPLIED', revision: String(revision) })
  return { status: route.success, body }
}

listen(
  createServer((request, response) => {
    take(request)
      .catch((error: unknown) => ({ status: 500, body: String(error) }))
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        response.end(body)
      })
  }),
)
