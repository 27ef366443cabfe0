/** The rules of the reference model that concern no more than two reports, or one deployment's components. */
import type { DeploymentState } from '../../../src/domain/values.ts'

/** What a report says of its own age, and what is remembered of the newest one. */
export interface Order {
  readonly version: number | null
  readonly boot: string | null
  readonly seq: number | null
  readonly time: number | null
  /** How far the boots before this one came. */
  readonly reached?: Readonly<Record<string, number>>
}

export interface Part {
  readonly state: DeploymentState
  readonly error: string | null
}

export type Parts = Readonly<Record<string, Part>>

/** The key by which it is older than what is known. */
export function staleBy(known: Order, r: Order, now: number): string | null {
  const [version, seq, time] = compare(known, r, now)
  if (version !== 0) return version < 0 ? 'adoptedManifestVersion' : null
  if (seq !== 0) return seq < 0 ? 'seq' : null
  if (time !== 0) return time < 0 ? 'observedAt' : null
  return r.seq !== null && r.boot !== known.boot && r.seq <= (known.reached?.[String(r.boot)] ?? -1) ? 'seq' : null
}

/** After a report that is not older: what a stronger key has overtaken is of another run, and forgotten. */
export function remember(known: Order, r: Order, now: number): Order {
  const [version, seq] = compare(known, r, now)
  const kept = version > 0 ? { boot: null, seq: null, time: null } : seq > 0 ? { ...known, time: null } : known
  const before = version > 0 ? {} : { ...known.reached, ...(known.seq !== null && { [String(known.boot)]: known.seq }) }
  const boot = r.seq === null ? kept.boot : r.boot
  const { [String(boot)]: _, ...reached } = before
  return {
    version: r.version ?? known.version,
    boot,
    seq: r.seq ?? kept.seq,
    time: usable(r.time, now) ?? kept.time,
    reached,
  }
}

function compare(known: Order, r: Order, now: number): [version: number, seq: number, time: number] {
  const by = (a: number | null, b: number | null): number => (a === null || b === null ? 0 : a - b)
  const seq = r.boot === known.boot ? by(r.seq, known.seq) : 0
  return [by(r.version, known.version), seq, by(usable(r.time, now), known.time)]
}

/** A clock more than five minutes ahead of ours decides nothing. */
function usable(time: number | null, now: number): number | null {
  return time !== null && time - now <= 300_000 ? time : null
}

export function derived(parts: Parts): DeploymentState | null {
  const has = (state: DeploymentState): boolean => Object.values(parts).some((part) => part.state === state)
  if (has('FAILED')) return 'FAILED'
  if (has('REMOVING')) return 'REMOVING'
  if (has('INSTALLING')) return 'INSTALLING'
  if (has('INSTALLED')) return has('PENDING') ? 'INSTALLING' : has('REMOVED') ? 'REMOVING' : 'INSTALLED'
  return has('PENDING') ? 'PENDING' : has('REMOVED') ? 'REMOVED' : null
}

type Known = { readonly state: DeploymentState; readonly stage: string | null; readonly parts: Parts } | null

/** Where it failed, when no report says so: what its parts show, which a repeat does not change. */
export function failureStage(state: DeploymentState, parts: Parts, known: Known): string | null {
  const said = (of: Parts): string =>
    JSON.stringify(
      Object.entries(of)
        .map(([name, { state }]) => [name, state])
        .toSorted(),
    )
  if (state !== 'FAILED') return null
  if (known?.state === 'FAILED' && said(known.parts) === said(parts)) return known.stage
  const states = new Set(Object.values(parts).map((part) => part.state))
  if (states.size === 0) return null
  const only = states.size === 1 ? [...states][0] : null
  if (only === 'PENDING' || (only === 'INSTALLED' && known?.state === 'REMOVING')) return 'PRE_PROCESSING'
  return only === 'INSTALLED' || only === 'REMOVED' ? 'POST_PROCESSING' : 'PROCESSING'
}

/** Stages before and after the parts are only ever those that the parts show. */
export function isConsistent(state: DeploymentState, parts: Parts, stage: string | null): boolean {
  if (stage === 'PRE_PROCESSING') return ['PENDING', 'INSTALLED', null].includes(derived(parts))
  if (stage === 'POST_PROCESSING') return ['INSTALLED', 'REMOVED', null].includes(derived(parts))
  const bySeverity = ['FAILED', 'REMOVING', 'INSTALLING', 'PENDING', 'REMOVED', 'INSTALLED']
  const severest = bySeverity.find((one) => Object.values(parts).some((part) => part.state === one))
  return severest === undefined || derived(parts) === state || severest === state
}

/** What may stand still. An error of a pending deployment says what it waits for. */
export function isInProgress({
  state,
  error,
}: {
  readonly state: DeploymentState
  readonly error: string | null
}): boolean {
  return state === 'INSTALLING' || state === 'REMOVING' || (state === 'PENDING' && error === null)
}
