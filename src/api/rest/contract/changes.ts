/** The JSON Schemas of changes, as webhooks and MQTT have them. A kind, or a field of one, without its schema does not compile. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type EnumTypeDefinitionNode, Kind, parse } from 'graphql'
import type { ChangeKind } from '../../../domain/change.ts'
import { type Details, detailNames } from '../../../domain/nouns/deployment.ts'
import {
  digits,
  list,
  object,
  ref,
  revision,
  type Schema,
  string,
  time,
  word,
} from '../../../ingest/dialects/contract.ts'
import { type OwnFields, wordOf } from '../../../outlets/sinks/change-data.ts'
import { root } from '../../../platform/installation.ts'

/** As GraphQL has them, with their descriptions. The file is read, because the whole schema takes longer to load. */
const { definitions } = parse(readFileSync(join(root, 'schema.graphql'), 'utf8'))

function typeOf(name: string): EnumTypeDefinitionNode {
  const type = definitions.find((one) => one.kind === Kind.ENUM_TYPE_DEFINITION && one.name.value === name)
  if (type?.kind !== Kind.ENUM_TYPE_DEFINITION) throw new Error(`GraphQL has no enum ${name}`)
  return type
}

const describe = ({ description }: Pick<EnumTypeDefinitionNode, 'description'>): string => description?.value ?? ''

function enumOf(name: string): Schema {
  const type = typeOf(name)
  const words = (type.values ?? []).map((value) => value.name.value)
  return word(words, describe(type))
}

export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
const text = orNull(string)
const integer: Schema = { type: 'integer' }
const flag: Schema = { type: 'boolean' }
const number: Schema = { type: 'number' }

export const state = ref('state')
export const convergence = enumOf('Convergence')
const connectivity = enumOf('Connectivity')
const sync = enumOf('SyncStatus')
const presence = enumOf('Presence')
const readiness = enumOf('Readiness')
const status = enumOf('InstanceStatus')

export const error = orNull(ref('error'))
export const target = ref('target')
export const version = digits('The version of the desired state.')
export const details = Object.fromEntries(
  detailNames.map((name) => [name, orNull(enumOf(`${name[0]?.toUpperCase()}${name.slice(1)}`))]),
) as Readonly<Record<keyof Details, Schema>>

const labels = list(object({ key: string, value: string }))
const alert = { id: string, rule: string, severity: enumOf('AlertSeverity') }
const stay = { maintenance: object({ reason: string, since: time('Since when.'), until: time('As planned.') }) }
const component = { component: string, from: orNull(state) }

const own: { readonly [Kind in ChangeKind]: Readonly<Record<OwnFields[Kind], Schema>> } = {
  DEPLOYMENT_STATE_CHANGED: {
    ...{ from: orNull(state), to: state, error: error, ...details },
    ...{ attempt: integer, adoptedManifestVersion: orNull(version) },
  },
  COMPONENT_STATE_CHANGED: { ...component, to: state, error: error },
  COMPONENT_REMOVED: component,
  DEPLOYMENT_MOVED: { 'fromTarget?': target, 'toTarget?': target },
  DEPLOYMENT_REVISED: { application: text, applicationVersion: text },
  DEPLOYMENT_FORGOTTEN: {},
  DEPLOYMENT_STALLED: { stalled: flag },
  CONVERGENCE_CHANGED: {
    ...{ fromConvergence: convergence, toConvergence: convergence },
    ...{ targetManifestVersion: orNull(version), documentDigest: text },
  },
  CONNECTIVITY_CHANGED: {
    ...{ fromConnectivity: orNull(connectivity), toConnectivity: connectivity },
    connectivitySource: orNull(enumOf('ConnectivitySource')),
  },
  DEVICE_RETIRED: { reason: string, replacedBy: orNull(target) },
  DEVICE_REINSTATED: {},
  MAINTENANCE_PLANNED: {
    maintenance: object({
      ...{ id: string, reason: string, from: time('Of the first.'), until: time('Of the first.') },
      ...{ repeat: text, timeZone: string, by: string },
    }),
  },
  MAINTENANCE_CANCELLED: { maintenance: object({ id: string, reason: string, by: string }) },
  MAINTENANCE_STARTED: stay,
  MAINTENANCE_ENDED: stay,
  RESOURCE_STATUS_CHANGED: {
    ...{ component: string, fromSync: orNull(sync), toSync: orNull(sync), reason: text },
    ...{ fromPresence: orNull(presence), toPresence: presence },
    ...{ fromReadiness: orNull(readiness), toReadiness: readiness },
  },
  INSTANCE_STATUS_CHANGED: { fromStatus: orNull(status), toStatus: status },
  ROLLOUT_LABELS_CHANGED: { fromLabels: labels, toLabels: labels },
  ALERT_RAISED: { alert: object({ ...alert, value: number }) },
  ALERT_RESOLVED: { alert: object({ ...alert, value: orNull(number), resolution: string }) },
  ALERT_ACKNOWLEDGED: { alert: object({ ...alert, acknowledgedBy: string, comment: string }) },
  LIFECYCLE_ACTION_RECORDED: {
    action: object({
      ...{ state: enumOf('LifecycleState'), instanceId: text, instanceRevision: integer },
      at: time('When it was done.'),
    }),
  },
}

const names = ['project', 'compositeApp', 'compositeAppVersion', 'provider']
/** What the others refer to. */
export const parts: Readonly<Record<string, Schema>> = {
  state: enumOf('DeploymentState'),
  error: object({ code: string, message: string, 'source?': string, 'originalLength?': integer }),
  target: object({ kind: enumOf('TargetKind'), 'provider?': string, name: string }),
  rollout: object({
    ...{ kind: enumOf('RolloutKind'), name: string },
    ...Object.fromEntries(names.map((name) => [`${name}?`, string])),
  }),
  resource: object({ group: string, version: string, kind: string, namespace: string, name: string }),
}

/** Of any change. */
const subjects = {
  ...{ revision, at: time('The clock of the server.'), 'observedAt?': time('The clock of the reporter.') },
  ...{ 'deploymentId?': string, 'instanceId?': string, 'target?': target },
  ...{ 'rollout?': ref('rollout'), 'resource?': ref('resource') },
}

/** By the word that topics and the types of events have. */
export const changes: ReadonlyMap<string, Schema> = new Map(
  (typeOf('ChangeKind').values ?? []).map((value) => {
    const kind = value.name.value as ChangeKind
    return [wordOf(kind), object({ kind: { const: kind }, ...subjects, ...own[kind] }, describe(value))]
  }),
)
