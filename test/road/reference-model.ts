/**
 * What Rollcall should answer, said again from the product's rules and from nothing of its code: one deployment at a time, no
 * batches, no database. Whatever both say must be the same.
 */
import type { DeploymentState } from '../../src/domain/deployment.ts'

export interface ModelReport {
  readonly reporter: string
  readonly device: string
  readonly id: string
  readonly state: DeploymentState
  readonly error: string | null
  readonly components: Readonly<Record<string, DeploymentState>>
  readonly version: number | null
  readonly boot: string | null
  readonly seq: number | null
  readonly time: number | null
}

export interface ModelDeployment {
  readonly id: string
  reporter: string
  device: string
  rollout: string
  state: DeploymentState
  error: string | null
  components: Record<string, DeploymentState>
  declared: readonly string[]
  attempt: number
  version: number | null
  forgotten: boolean
  claimed: boolean
  marks: { version: number | null; boot: string | null; seq: number | null; time: number | null }
}

/** `what`: kind and what it says, in one line. */
export interface ModelChange {
  readonly revision: number
  readonly id: string
  readonly what: string
}

const noMarks = { version: null, boot: null, seq: null, time: null }
const terminal = ['INSTALLED', 'FAILED', 'REMOVED']
const beginning = ['PENDING', 'INSTALLING']

export function createModel(start: number) {
  const deployments: ModelDeployment[] = []
  const log: ModelChange[] = []
  const kept: string[] = []
  let revision = start

  const tell = (id: string, what: string): void => void log.push({ revision: ++revision, id, what })
  const older = (a: number | null, b: number | null): number => (a === null || b === null ? 0 : a - b)

  function staleBy(d: ModelDeployment, r: ModelReport, now: number): string | null {
    const version = older(r.version, d.marks.version)
    const seq = r.boot === d.marks.boot ? older(r.seq, d.marks.seq) : 0
    const time = older(usable(r.time, now), d.marks.time)
    if (version !== 0) return version < 0 ? 'adoptedManifestVersion' : null
    if (seq !== 0) return seq < 0 ? 'seq' : null
    return time < 0 ? 'observedAt' : null
  }

  function mark(d: ModelDeployment, r: ModelReport, now: number): void {
    const newer = older(r.version, d.marks.version) > 0
    const newerSeq = r.boot === d.marks.boot && older(r.seq, d.marks.seq) > 0
    d.marks = {
      version: r.version ?? d.marks.version,
      boot: r.seq !== null ? r.boot : newer ? null : d.marks.boot,
      seq: r.seq ?? (newer ? null : d.marks.seq),
      time: usable(r.time, now) ?? (newer || newerSeq ? null : d.marks.time),
    }
  }

  function report(r: ModelReport, now: number): { verdict: string; staleBy: string | null } {
    let d = deployments.find((one) => one.id === r.id && one.reporter === r.reporter)
    d ??= deployments.find((one) => one.id === r.id && one.device === r.device && !one.claimed && !one.forgotten)
    const isNew = !d || d.forgotten
    d ??= born(r.id, r.reporter, r.device, r.id)
    const by = isNew ? null : staleBy(d, r, now)
    if (by !== null) {
      kept.push(`${r.id} STALE`)
      return { verdict: 'STALE', staleBy: by }
    }
    const before = revision
    const attempt =
      d.attempt === 0 ? 1 : terminal.includes(d.state) && beginning.includes(r.state) ? d.attempt + 1 : d.attempt
    if (isNew) Object.assign(d, { components: {}, version: null, marks: noMarks, forgotten: false })
    else if (d.device !== r.device) tell(r.id, `moved ${d.device} ${r.device}`)
    const version = r.version ?? d.version
    if (isNew || d.state !== r.state || d.error !== r.error || d.attempt !== attempt || d.version !== version)
      tell(r.id, `state ${isNew ? null : d.state} ${r.state} ${r.error} ${attempt} ${version}`)
    mark(d, r, now)
    Object.assign(d, {
      reporter: r.reporter,
      device: r.device,
      state: r.state,
      error: r.error,
      attempt,
      version,
      claimed: true,
    })
    if (Object.keys(r.components).length > 0 || (isNew && d.declared.length > 0))
      merge(d, withDeclared(r.components, d.declared))
    if (revision === before) return { verdict: 'UNCHANGED', staleBy: null }
    kept.push(`${r.id} APPLIED`)
    return { verdict: 'APPLIED', staleBy: null }
  }

  function merge(d: ModelDeployment, wanted: Readonly<Record<string, DeploymentState>>): void {
    for (const [name, from] of Object.entries(d.components)) {
      const to = wanted[name]
      if (to === undefined) tell(d.id, `gone ${name} ${from}`)
      else if (to !== from) tell(d.id, `component ${name} ${from} ${to}`)
    }
    for (const [name, to] of Object.entries(wanted))
      if (!(name in d.components)) tell(d.id, `component ${name} null ${to}`)
    const left = Object.keys(d.components).filter((name) => name in wanted)
    const order = [...left, ...Object.keys(wanted).filter((name) => !left.includes(name))]
    d.components = Object.fromEntries(order.map((name) => [name, wanted[name] ?? 'PENDING']))
  }

  function declare(id: string, device: string, rollout: string, components: readonly string[]): void {
    let d = deployments.find((one) => one.id === id && one.reporter === device)
    d ??= deployments.find((one) => one.id === id && one.device === device && !one.forgotten)
    const isNew = !d || d.forgotten
    const wasBorn = !d
    d ??= born(id, device, device, rollout)
    if (isNew) {
      const attempt = wasBorn ? 1 : terminal.includes(d.state) ? d.attempt + 1 : d.attempt
      tell(id, `state null PENDING null ${attempt} null`)
      const fresh = { state: 'PENDING', error: null, components: {}, version: null, claimed: false, forgotten: false }
      Object.assign(d, { ...fresh, device, attempt, marks: noMarks })
    }
    if (d.rollout !== rollout) tell(id, `revised ${rollout}`)
    d.rollout = rollout
    d.declared = components
    if (d.claimed || components.length > 0) merge(d, withDeclared(d.claimed ? d.components : {}, components))
  }

  function born(id: string, reporter: string, device: string, rollout: string): ModelDeployment {
    const d: ModelDeployment = {
      id,
      reporter,
      device,
      rollout,
      state: 'PENDING',
      error: null,
      components: {},
      declared: [],
      attempt: 0,
      version: null,
      forgotten: false,
      claimed: false,
      marks: noMarks,
    }
    deployments.push(d)
    return d
  }

  return {
    deployments,
    log,
    kept,
    revision: () => revision,
    report,
    declare,
    resetOrder(reporter: string) {
      for (const d of deployments) if (d.reporter === reporter) d.marks = noMarks
    },
    forget(d: ModelDeployment) {
      if (!d.forgotten) tell(d.id, 'forgotten')
      Object.assign(d, { forgotten: true, marks: noMarks })
    },
    present: () => structuredClone(deployments.filter(({ forgotten }) => !forgotten)),
  }
}

/** A clock more than five minutes ahead of ours decides nothing. */
function usable(time: number | null, now: number): number | null {
  return time !== null && time - now <= 300_000 ? time : null
}

function withDeclared(
  components: Readonly<Record<string, DeploymentState>>,
  declared: readonly string[],
): Record<string, DeploymentState> {
  const missing = declared.filter((name) => !(name in components))
  return { ...components, ...Object.fromEntries(missing.map((name) => [name, 'PENDING' as const])) }
}
