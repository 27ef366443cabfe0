/** Reads the ordering keys of a body: the adopted version, the reporter's sequence number and its clock (docs/wire.md §7.3). */
import { detailNames, type SaidDetails, saidDetails } from '../../../domain/nouns/deployment.ts'
import type { OrderMarks } from '../../../domain/transition/order.ts'
import { type Digits, type FailureStage, failureStages } from '../../../domain/values.ts'
import { type Body, complain, isAbsent, isObject, type Problems, shown } from '../../../platform/body/problems.ts'
import { textProblem } from '../../../platform/body/text.ts'
import { readTime, timeProblem } from '../../../platform/body/time.ts'
import { type Reading, warn } from './reading.ts'
import { readU64, u64Problem } from './u64.ts'

const longestBoot = 256

/**
 * Validated in every generation if present. Only the route of 1.0.0-rc.3 requires it. Tolerance: the sandbox's agent sends 0 there while it knows no
 * version, and an earlier one sends none.
 */
export function readAdoptedManifestVersion(problems: Reading, body: Body, required: boolean): Digits | null {
  const value = body.adoptedManifestVersion
  if (isAbsent(value) && !required) return null
  const version = readU64(value)
  if (version !== null && version !== '0') return version
  const problem = u64Problem(value, 1)
  if (version === '0' || isAbsent(value))
    warn(problems, 'PART_NOT_UNDERSTOOD', 'adoptedManifestVersion', `${problem}: it counts as not known`)
  else complain(problems, 'adoptedManifestVersion', problem)
  return null
}

/** The specification's name for such an extension, for clients that may send no other key. */
const extension = 'x-rollcall-extensions'

/** Rollcall's own extension (`rollcall`) takes precedence over a vendor's, key by key. */
export function readRunMarks(problems: Reading, body: Body): RunMarks {
  const name = isAbsent(body.rollcall) ? extension : 'rollcall'
  const ours = isAbsent(body[name]) ? null : readRollcall(problems, name, body[name])
  const vendors = readReeve(body.reeve)
  return {
    boot: ours?.boot ?? null,
    seq: ours?.seq ?? vendors?.seq ?? null,
    observedAt: ours?.observedAt ?? vendors?.observedAt ?? readMetadataTime(body.metadata),
    details: ours?.details ?? {},
  }
}

interface RunMarks extends Pick<OrderMarks, 'boot' | 'seq' | 'observedAt'> {
  readonly details: SaidDetails
}

/** Rollcall's own extension. A client relies on its order keys, so an invalid one is refused. */
function readRollcall(problems: Reading, name: string, rollcall: unknown): RunMarks | null {
  if (!isObject(rollcall)) {
    complain(
      problems,
      name,
      `must be an object {seq, boot, observedAt, ${detailNames.join(', ')}}, but is ${shown(rollcall)}`,
    )
    return null
  }
  const seq = isAbsent(rollcall.seq) ? null : readU64(rollcall.seq)
  if (seq === null && !isAbsent(rollcall.seq)) complain(problems, `${name}.seq`, u64Problem(rollcall.seq, 0))
  const observedAt = isAbsent(rollcall.observedAt) ? null : readTime(rollcall.observedAt)
  if (observedAt === null && !isAbsent(rollcall.observedAt))
    complain(problems, `${name}.observedAt`, timeProblem(rollcall.observedAt))
  return {
    seq,
    observedAt,
    boot: readBoot(problems, `${name}.boot`, rollcall.boot),
    details: saidDetails({
      failureStage: readFailureStage(problems, `${name}.failureStage`, rollcall.failureStage),
    }),
  }
}

/** Tolerance: any letter case, and the proposal's spelling with a hyphen. */
function readFailureStage(reading: Reading, field: string, value: unknown): FailureStage | null {
  if (isAbsent(value)) return null
  const word = typeof value === 'string' ? value.toUpperCase().replace('-', '_') : null
  const stage = failureStages.find((one) => one === word) ?? null
  if (stage === null)
    warn(reading, 'PART_NOT_UNDERSTOOD', field, `must be one of ${failureStages.join(', ')}, but is ${shown(value)}`)
  return stage
}

/** Compared for equality only. Tolerance: a number, for example a count of boots. */
function readBoot(problems: Problems, field: string, boot: unknown): string | null {
  if (isAbsent(boot)) return null
  if (typeof boot === 'bigint' || Number.isFinite(boot)) return String(boot)
  const problem =
    typeof boot === 'string' ? textProblem(boot, longestBoot) : `must be a string or a number, but is ${shown(boot)}`
  if (problem !== null) complain(problems, field, problem)
  return problem === null ? String(boot) : null
}

/** Tolerance: a vendor's extension. An invalid value is ignored, not refused, and then does not decide the order. */
function readReeve(reeve: unknown): Pick<OrderMarks, 'seq' | 'observedAt'> | null {
  return isObject(reeve) ? { seq: readU64(reeve.seq), observedAt: readTime(reeve.observedAt) } : null
}

/** Tolerance: the clock of the 2024-06 proposal. An invalid value is ignored, as with a vendor's extension. */
function readMetadataTime(metadata: unknown): OrderMarks['observedAt'] {
  return isObject(metadata) ? readTime(metadata.timeStamp) : null
}
