/** Reads a batch of a site's server (domain/sites/batch.ts). What it says goes into the log, so each part is checked. */
import { z } from 'zod'
import { convergences } from '../../../domain/desired.ts'
import { DomainError } from '../../../domain/errors.ts'
import { verdicts } from '../../../domain/report.ts'
import { rolloutKinds } from '../../../domain/rollout.ts'
import { type Batch, siteProtocol } from '../../../domain/sites/batch.ts'
import { isPath, pathRule } from '../../../domain/sites/path.ts'
import { connectivities, targetKinds } from '../../../domain/target.ts'
import { hasUnseen, isStorable } from '../../../domain/text.ts'
import { deploymentStates, failureStages, readinesses } from '../../../domain/values.ts'
import type { Paced } from '../../../platform/limits/pace.ts'

const text = (longest: number) => z.string().max(longest).refine(isStorable, 'has characters that cannot be stored')
const name = text(512).min(1)
const key = z.int().positive()
const revision = z.int().nonnegative()
const instant = z.int().min(-62_135_596_800_000).max(253_402_300_799_999)
const digits = z.string().regex(/^(0|[1-9]\d{0,19})$/)
const path = text(512).refine(isPath, pathRule)
const position = z.object({ epoch: revision, revision, writes: revision })
const state = z.enum(deploymentStates)
const error = z
  .object({
    code: text(4096),
    message: text(270_336),
    source: text(4096).optional(),
    originalLength: revision.optional(),
  })
  .nullable()
const rollout = z.object({
  ...{ kind: z.enum(rolloutKinds), name, project: name.nullable(), compositeApp: name.nullable() },
  ...{ compositeAppVersion: name.nullable(), provider: name.nullable() },
})
const named = z.object({ deploymentId: name, reporter: name })
const attempt = z.int().min(1).max(2_147_483_647)
const failureStage = z.enum(failureStages)
const unread = text(200).optional()
const readiness = z.enum(readinesses)
const ofComponent = { component: name, from: state.nullable() }
const application = text(4096).nullable()
const digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .nullable()
const window = { maintenanceKey: z.int(), reason: text(4096), since: instant, until: instant }

/** Those of ChangeBody that a site sends. Others, of a newer version, are left out: no reader of the log would understand them. */
const changes = {
  DEPLOYMENT_STATE_CHANGED: z.object({
    ...{ from: state.nullable(), to: state, error, attempt, adoptedManifestVersion: digits.nullable() },
    failureStage: failureStage.optional(),
  }),
  COMPONENT_STATE_CHANGED: z.object({ ...ofComponent, to: state, error, unread }),
  COMPONENT_REMOVED: z.object(ofComponent),
  DEPLOYMENT_MOVED: z.object({ fromTargetKey: key, toTargetKey: key }),
  DEPLOYMENT_REVISED: z.object({
    from: z.object({ application, applicationVersion: application }).optional(),
    ...{ application, applicationVersion: application, rolloutKey: z.int() },
    ...{ readiness: readiness.optional(), isCurrent: z.boolean().optional() },
    componentReadiness: z.record(name, readiness).optional(),
  }),
  DEPLOYMENT_FORGOTTEN: z.object({}),
  DEPLOYMENT_STALLED: z.object({ stalled: z.boolean() }),
  CONVERGENCE_CHANGED: z.object({
    ...{ from: z.enum(convergences), to: z.enum(convergences) },
    ...{ targetManifestVersion: digits.nullable(), documentDigest: digest },
  }),
  CONNECTIVITY_CHANGED: z.object({
    ...{ from: z.enum(connectivities).nullable(), to: z.enum(connectivities) },
    source: z.enum(['REPORT', 'GATEWAY', 'SILENCE', 'BROKER', 'ORCHESTRATOR']),
  }),
  DEVICE_RETIRED: z.object({ reason: text(4096), replacedByKey: key.nullable() }),
  DEVICE_REINSTATED: z.object({}),
  MAINTENANCE_STARTED: z.object(window),
  MAINTENANCE_ENDED: z.object(window),
} as const
const ofKnownKind = z.discriminatedUnion(
  'kind',
  Object.entries(changes).map(([kind, fields]) => fields.extend({ kind: z.literal(kind) })) as never,
)
const known: ReadonlySet<unknown> = new Set(Object.keys(changes))

const target = z.object({
  ...{ key, site: path.optional(), kind: z.enum(targetKinds), provider: text(512).optional() },
  ...{ name: name.refine((value) => !hasUnseen(value)), displayName: text(4096).optional() },
  labels: z
    .array(z.object({ key: name, value: text(4096) }))
    .max(200)
    .optional(),
  ...{ registered: z.boolean().optional(), expectedInterval: z.int().positive().max(2_147_483_647).optional() },
  ...{ parent: key.optional(), revokedAt: instant.optional() },
  present: z
    .object({
      ...{ connectivity: z.enum(connectivities), retiredAt: instant.nullable(), retiredReason: text(4096).nullable() },
      ...{ maintenanceReason: text(4096).nullable(), maintenanceSince: instant.nullable() },
      maintenanceUntil: instant.nullable(),
    })
    .optional(),
})
const report = z.object({
  ...{ verdict: z.enum(verdicts), staleBy: z.enum(['adoptedManifestVersion', 'seq', 'observedAt']).optional() },
  ...{ receivedAt: instant, adoptedManifestVersion: digits.optional(), seq: digits.optional() },
  ...{ boot: text(512).optional(), dialect: name },
})
const fact = z.object({
  ...{ revision, at: instant, observedAt: instant.optional(), traceparent: text(55).optional() },
  ...{ deployment: key.optional(), target: key.optional(), rollout: rollout.optional(), named: named.optional() },
  report: report.optional(),
  changes: z
    .array(z.object({ kind: name }).loose())
    .min(1)
    .max(2_010),
})
const component = z.object({
  ...{ name, state, error, readiness: readiness.optional(), unread, changedAt: instant, revision },
})
const siteState = z.object({
  ...{ key, named, target: key, rollout },
  image: z.object({
    ...{ isCurrent: z.boolean(), application, applicationVersion: application, state, derivedState: state.nullable() },
    ...{ consistent: z.boolean(), error, failureStage: failureStage.nullable(), readiness, attempt },
    ...{ components: z.array(component).max(1_000), adoptedManifestVersion: digits.nullable() },
    ...{ targetManifestVersion: digits.nullable(), documentDigest: digest, convergence: z.enum(convergences) },
    ...{ stalled: z.boolean(), reportedAt: instant.nullable(), changedAt: instant, revision },
    forgottenAt: instant.nullable(),
  }),
})
const part = z.object({ after: revision, to: revision, states: z.array(z.unknown()).max(1_000), isLast: z.boolean() })
const envelope = z.object({
  ...{ protocol: z.int().positive(), version: text(100), sentAt: instant, after: position.nullable(), upTo: position },
  ...{ backlog: revision, targets: z.array(z.unknown()).max(20_000).optional() },
  ...{ facts: z.array(z.unknown()).max(5_000).optional(), snapshot: part.optional() },
})

export function* readBatch(body: unknown): Paced<Batch> {
  const { targets = [], facts = [], snapshot, ...batch } = check(envelope, body, '')
  if (batch.protocol > siteProtocol)
    throw invalid('protocol', `must be at most ${siteProtocol}: this server is of an older version than the site`)
  if (!snapshot && batch.after === null) throw invalid('after', 'must be where this server is: GET says it')
  if (snapshot && facts.length > 0) throw invalid('facts', 'must be absent in a snapshot')
  const read = {
    targets: yield* each(targets, target, 'targets'),
    facts: yield* each(facts, fact, 'facts', withKnownChanges),
    states: yield* each(snapshot?.states ?? [], siteState, 'snapshot.states'),
  }
  const { states, ...others } = read
  return { ...batch, ...others, ...(snapshot && { snapshot: { ...snapshot, states } }) } as Batch
}

function* each<Schema extends z.ZodType>(
  items: readonly unknown[],
  schema: Schema,
  field: string,
  more: (item: z.output<Schema>, field: string) => unknown = (item) => item,
): Paced<unknown[]> {
  const read: unknown[] = []
  for (const [index, item] of items.entries()) {
    const place = `${field}[${index}]`
    read.push(more(check(schema, item, place), place))
    yield
  }
  return read
}

function withKnownChanges(read: z.output<typeof fact>, field: string): unknown {
  const checked = read.changes.flatMap((change, index) =>
    known.has(change.kind) ? [check(ofKnownKind, change, `${field}.changes[${index}]`)] : [],
  )
  return { ...read, changes: checked }
}

function check<Schema extends z.ZodType>(schema: Schema, value: unknown, field: string): z.output<Schema> {
  const { success, data, error: refused } = schema.safeParse(value)
  if (success) return data
  const [first] = refused.issues
  const place = (first?.path ?? []).map((one) => (typeof one === 'number' ? `[${one}]` : `.${String(one)}`)).join('')
  throw invalid(`${field}${place}`.replace(/^\./, ''), first?.message ?? 'is invalid')
}

function invalid(field: string, message: string): DomainError {
  return new DomainError('SEMANTIC_ERROR', `The batch is refused: ${field} ${message}.`, {
    problems: [{ field, message }],
  })
}
