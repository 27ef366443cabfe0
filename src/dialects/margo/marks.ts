/** What a body says about its own place in the order of reports: the version it adopted, the reporter's sequence and clock (PRODUCT, "Verdicts"). */
import type { Digits, OrderMarks } from '../../domain/deployment.ts'
import { type Body, complain, isAbsent, isObject, type Problems, shown } from './problems.ts'
import { textProblem } from './text.ts'
import { readTime, timeProblem } from './time.ts'
import { readU64, u64Problem } from './u64.ts'

const longestBoot = 256

/** Validated in every generation when it is there; required only by the route of 1.0.0-rc.3. */
export function readAdoptedManifestVersion(problems: Problems, body: Body, required: boolean): Digits | null {
  const value = body.adoptedManifestVersion
  if (isAbsent(value) && !required) return null
  const version = readU64(value)
  if (version !== null && version !== '0') return version
  complain(problems, 'adoptedManifestVersion', u64Problem(value, 1))
  return null
}

/** Ours (`rollcall`) wins over a vendor's, key by key. */
export function readRunMarks(problems: Problems, body: Body): Pick<OrderMarks, 'boot' | 'seq' | 'observedAt'> {
  const ours = isAbsent(body.rollcall) ? null : readRollcall(problems, body.rollcall)
  const vendors = readReeve(body.reeve)
  return {
    boot: ours?.boot ?? null,
    seq: ours?.seq ?? vendors?.seq ?? null,
    observedAt: ours?.observedAt ?? vendors?.observedAt ?? readMetadataTime(body.metadata),
  }
}

/** Our own extension: who sends it means to be understood, so what cannot be read is refused. */
function readRollcall(problems: Problems, rollcall: unknown): Pick<OrderMarks, 'boot' | 'seq' | 'observedAt'> | null {
  if (!isObject(rollcall)) {
    complain(problems, 'rollcall', `must be an object {seq, boot, observedAt}, but is ${shown(rollcall)}`)
    return null
  }
  const seq = isAbsent(rollcall.seq) ? null : readU64(rollcall.seq)
  if (seq === null && !isAbsent(rollcall.seq)) complain(problems, 'rollcall.seq', u64Problem(rollcall.seq, 0))
  const observedAt = isAbsent(rollcall.observedAt) ? null : readTime(rollcall.observedAt)
  if (observedAt === null && !isAbsent(rollcall.observedAt))
    complain(problems, 'rollcall.observedAt', timeProblem(rollcall.observedAt))
  return { seq, observedAt, boot: readBoot(problems, rollcall.boot) }
}

/** Compared for equality only. Tolerance: a number, e.g. a count of boots. */
function readBoot(problems: Problems, boot: unknown): string | null {
  if (isAbsent(boot)) return null
  if (typeof boot === 'bigint' || Number.isFinite(boot)) return String(boot)
  const problem =
    typeof boot === 'string' ? textProblem(boot, longestBoot) : `must be a string or a number, but is ${shown(boot)}`
  if (problem !== null) complain(problems, 'rollcall.boot', problem)
  return problem === null ? String(boot) : null
}

/** Tolerance: one vendor's extension. It is not ours to refuse: what cannot be read does not order. */
function readReeve(reeve: unknown): Pick<OrderMarks, 'seq' | 'observedAt'> | null {
  return isObject(reeve) ? { seq: readU64(reeve.seq), observedAt: readTime(reeve.observedAt) } : null
}

/** Tolerance: the clock of the 2024-06 proposal; ignored like a vendor's when it cannot be read. */
function readMetadataTime(metadata: unknown): OrderMarks['observedAt'] {
  return isObject(metadata) ? readTime(metadata.timeStamp) : null
}
