/** The rules of the reference model that concern no more than two reports, or one deployment's components. */
import type { DeploymentState } from '../../src/domain/deployment.ts'

/** What a report says of its own age, and what is remembered of the newest one. */
export interface Order {
  readonly version: number | null
  readonly boot: string | null
  readonly seq: number | null
  readonly time: number | null
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
  return time < 0 ? 'observedAt' : null
}

/** After a report that is not older: what a stronger key has overtaken is of another run, and forgotten. */
export function remember(known: Order, r: Order, now: number): Order {
  const [version, seq] = compare(known, r, now)
  const kept = version > 0 ? { boot: null, seq: null, time: null } : seq > 0 ? { ...known, time: null } : known
  return {
    version: r.version ?? known.version,
    boot: r.seq === null ? kept.boot : r.boot,
    seq: r.seq ?? kept.seq,
    time: usable(r.time, now) ?? kept.time,
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

export function isConsistent(state: DeploymentState, parts: Parts): boolean {
  const bySeverity = ['FAILED', 'REMOVING', 'INSTALLING', 'PENDING', 'REMOVED', 'INSTALLED']
  const severest = bySeverity.find((one) => Object.values(parts).some((part) => part.state === one))
  return severest === undefined || derived(parts) === state || severest === state
}
