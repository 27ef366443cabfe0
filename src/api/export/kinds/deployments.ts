/** The listed deployments as of a revision. */
import type { Component } from '../../../domain/deployment.ts'
import { detailNames, detailsOf } from '../../../domain/nouns/deployment.ts'
import { type ExportedDeployment, readDeployments } from '../../../store/read/export/deployments.ts'
import { instanceIds } from '../../../store/read/export/names.ts'
import { requireRetained } from '../../../store/read/past.ts'
import { createPartSize } from '../../../store/sql/parts.ts'
import { columnsOf, type Row, rolloutColumns, targetColumns } from '../columns.ts'
import { conditionParameters, conditionsOf, deploymentFilterOf } from '../conditions.ts'
import { cursorNumbers } from '../query.ts'
import { momentParameters, revisionOf } from './bounds.ts'
import type { Kind, Sessions } from './kind.ts'
import { readPlaces } from './places.ts'

const detailColumns = Object.fromEntries(detailNames.map((name) => [name, 'text'] as const))

const columns = columnsOf({
  deploymentId: 'text',
  reporter: 'text',
  ...targetColumns,
  ...rolloutColumns,
  instanceId: 'text',
  application: 'text',
  applicationVersion: 'text',
  state: 'text',
  derivedState: 'text',
  consistent: 'boolean',
  stalled: 'boolean',
  attempt: 'count',
  ...detailColumns,
  errorCode: 'text',
  errorMessage: 'text',
  readiness: 'text',
  convergence: 'text',
  adoptedManifestVersion: 'text',
  targetManifestVersion: 'text',
  documentDigest: 'text',
  reportedAt: 'time',
  changedAt: 'time',
  revision: 'revision',
  components: 'json',
  cursor: 'text',
})

/** Deployments that are looked at in a part. */
const most = 500

export const deployments: Kind = {
  columns,
  accepts: [...momentParameters, ...conditionParameters],
  async open({ scoped }, query) {
    const revision = await revisionOf(scoped, query)
    const filter = deploymentFilterOf(query)
    const size = createPartSize(most)
    return {
      revision,
      parameters: { atRevision: String(revision), ...conditionsOf(query) },
      async read(sessions, after) {
        await requireRetained(sessions.whole, revision)
        const [key = 0] = after === null ? [] : cursorNumbers(after, 1)
        const { rows, isCut, next } = await readDeployments(sessions.scoped, revision, filter, key, size.next())
        size.read(rows.length, isCut)
        return { rows: await rowsOf(sessions, rows), next: next === null ? null : String(next) }
      },
    }
  },
}

async function rowsOf({ whole }: Sessions, found: readonly ExportedDeployment[]): Promise<Row[]> {
  const showPlace = await readPlaces(
    whole,
    found.map(({ targetKey }) => targetKey),
    found.map(({ rolloutKey }) => rolloutKey),
  )
  const instances = await instanceIds(
    whole,
    found.flatMap(({ instanceKey }) => instanceKey ?? []),
  )
  return found.map((row) => ({
    deploymentId: row.deploymentId,
    reporter: row.reporter,
    ...showPlace(row.targetKey, row.rolloutKey),
    instanceId: row.instanceKey === null ? null : (instances.get(row.instanceKey) ?? null),
    application: row.application,
    applicationVersion: row.applicationVersion,
    state: row.state,
    derivedState: row.derivedState,
    consistent: row.consistent,
    stalled: row.stalled,
    attempt: row.attempt,
    ...detailsOf(row),
    errorCode: row.error?.code ?? null,
    errorMessage: row.error?.message ?? null,
    readiness: row.readiness,
    convergence: row.convergence,
    adoptedManifestVersion: row.adoptedManifestVersion,
    targetManifestVersion: row.targetManifestVersion,
    documentDigest: row.documentDigest,
    reportedAt: row.reportedAt,
    changedAt: row.changedAt,
    revision: row.revision,
    components: row.components.map(shownComponent),
    cursor: String(row.key),
  }))
}

/** As GraphQL shows it. */
function shownComponent(component: Component): object {
  const { name, state, error, unread, readiness = 'UNKNOWN', changedAt, revision } = component
  const said = unread === undefined ? {} : { notUnderstood: unread }
  const at = new Date(changedAt).toISOString()
  return { name, state, error, ...said, readiness, changedAt: at, revision: String(revision) }
}
