/**
 * What a device of each Margo generation sends: its route, its body, and the keys that order its reports. Written from the
 * specifications, independently of the server's readers.
 */
import type { DeploymentState, StatusError } from '../../domain/values.ts'
import type { Generation, SimulatedDeployment } from './fleet.ts'
import type { Step, StepComponent } from './script.ts'

/** One report as the device created it. */
export interface Report {
  readonly deployment: SimulatedDeployment
  readonly step: Step
  /** Counts this deployment's reports since the device was switched on. */
  readonly seq: number
  readonly boot: string
  /** The device's own clock, milliseconds since 1970. */
  readonly clock: number
}

/** The ordering keys of a report. Null: the report does not have the key. */
export interface Marks {
  readonly version: number | null
  readonly boot: string | null
  readonly seq: number | null
  readonly observedAt: number | null
}

interface WireGeneration {
  readonly path: (report: Report) => string
  readonly body: (report: Report) => object
  readonly marks: (report: Report) => Marks
}

const none: Marks = { version: null, boot: null, seq: null, observedAt: null }
const text = (state: DeploymentState): string => state.toLowerCase()
const capitalised = (state: DeploymentState): string => state.charAt(0) + text(state).slice(1)
const reporterOf = ({ deployment }: Report): string => encodeURIComponent(deployment.device.reporter)
const idOf = ({ deployment }: Report): string => deployment.deploymentId
const iso = (clock: number): string => new Date(clock).toISOString()

/** The specification's examples contain an empty error where there is no error. */
const orEmpty = (error: StatusError | null): object => error ?? { code: '', message: '' }
const ifAny = (error: StatusError | null): object => (error ? { error } : {})
const plain = (components: readonly StepComponent[]): object[] =>
  components.map(({ name, state, error }) => ({ name, state: text(state), ...ifAny(error) }))

export const generations = {
  /** The proposal: components inside the status, and a time with a space instead of the T. */
  '2024-06': {
    path: (report) => `/device/${reporterOf(report)}/deployment/${idOf(report)}/status`,
    body: (report) => ({
      apiVersion: 'deployment.margo/v1',
      kind: 'DeploymentStatus',
      metadata: { deploymentId: idOf(report), timeStamp: `${iso(report.clock).slice(0, 19).replace('T', ' ')}Z` },
      status: {
        state: text(report.step.state),
        ...ifAny(report.step.error),
        components: plain(report.step.components),
      },
    }),
    marks: (report) => ({ ...none, observedAt: Math.floor(report.clock / 1_000) * 1_000 }),
  },
  /** Without any ordering key. */
  '2024-09': {
    path: (report) => `/device/${reporterOf(report)}/deployment/${idOf(report)}/status`,
    body: ({ deployment, step }) => ({
      apiVersion: 'deployment.margo/v1',
      kind: 'DeploymentStatus',
      deploymentId: deployment.deploymentId,
      status: { state: text(step.state), error: orEmpty(step.error) },
      components: step.components.map(({ name, state, error }) => ({
        name,
        state: text(state),
        error: orEmpty(error),
      })),
    }),
    marks: () => none,
  },
  /** States with a capital letter and the status as a list of one, as in the specification's tables. */
  '0.0.1': {
    path: (report) => `/api/v1/device/${reporterOf(report)}/deployment/${idOf(report)}/status`,
    body: ({ deployment, step }) => ({
      apiVersion: 'v1',
      kind: 'DeploymentStatus',
      deploymentId: deployment.deploymentId,
      status: [{ state: capitalised(step.state), ...ifAny(step.error) }],
      components: step.components.map(({ name, state, error }) => ({
        name,
        state: capitalised(state),
        ...ifAny(error),
      })),
    }),
    marks: () => none,
  },
  /** With Rollcall's own extension: sequence number, boot and clock. */
  '2025-10': {
    path: (report) => `/margo/sbi/v1/client/${reporterOf(report)}/deployment/${idOf(report)}/status`,
    body: (report) => ({
      ...manifest(report),
      rollcall: { seq: report.seq, boot: report.boot, observedAt: iso(report.clock) },
    }),
    marks: ({ seq, boot, clock }) => ({ ...none, seq, boot, observedAt: clock }),
  },
  '1.0.0': {
    path: (report) => `/api/v1/clients/${reporterOf(report)}/deployment/${idOf(report)}/status`,
    body: (report) => ({ ...manifest(report), rollcall: { seq: String(report.seq), boot: report.boot } }),
    marks: ({ seq, boot }) => ({ ...none, seq, boot }),
  },
  /** With a vendor's extension. Its sequence number survives a restart. */
  vendor: {
    path: (report) => `/api/v1/clients/${reporterOf(report)}/deployments/${idOf(report)}/status`,
    body: (report) => ({ ...manifest(report), reeve: { observedAt: iso(report.clock) } }),
    marks: ({ clock }) => ({ ...none, observedAt: clock }),
  },
  /** Today's form: no kind, and the version of the desired state that the device has adopted. */
  'rc.3': {
    path: (report) => `/api/v1/deployments/${idOf(report)}/status`,
    body: ({ deployment, step }) => ({
      deploymentId: deployment.deploymentId,
      deviceId: deployment.device.deviceId,
      adoptedManifestVersion: step.manifestVersion,
      status: { state: text(step.state), ...ifAny(step.error) },
      components: plain(step.components),
    }),
    marks: ({ step }) => ({ ...none, version: step.manifestVersion }),
  },
  /** A gateway's report about its child. The error's source names the child. */
  gateway: {
    path: (report) => `/margo/sbi/v1/device/${reporterOf(report)}/deployment/${idOf(report)}/status`,
    body: (report) => ({
      ...manifest(report),
      deviceId: report.deployment.device.deviceId,
      rollcall: { seq: report.seq, boot: report.boot, observedAt: iso(report.clock) },
    }),
    marks: ({ seq, boot, clock }) => ({ ...none, seq, boot, observedAt: clock }),
  },
} as const satisfies Record<Generation, WireGeneration>

export function generationOf({ deployment }: Report): WireGeneration {
  return generations[deployment.device.generation]
}

function manifest({ deployment, step }: Report): object {
  return {
    apiVersion: 'deployment.margo.org/v1alpha1',
    kind: 'DeploymentStatusManifest',
    deploymentId: deployment.deploymentId,
    status: { state: text(step.state), ...ifAny(step.error) },
    components: plain(step.components),
  }
}

/** An item of a backlog: the same body and its reporter. */
export function backlogItem(report: Report): object {
  return { ...generationOf(report).body(report), reporter: report.deployment.device.reporter }
}
