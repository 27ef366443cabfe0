/**
 * The endless steps of one deployment, from its declaration on. A device reports each step. The pace is that of people and
 * networks: a component takes seconds to minutes.
 *
 *   round:  [PENDING with its reason] → INSTALLING, component by component → INSTALLED
 *           a component may fail and is retried; some stall for minutes; some never start, because there is no cluster
 *   later rounds update the deployment; sometimes it is removed first
 */
import type { DeploymentState, StatusError } from '../../domain/values.ts'
import type { SimulatedDeployment } from './fleet.ts'
import { createRandom, type Random } from './random.ts'

export interface Step {
  /** Milliseconds after the start. */
  readonly at: number
  readonly state: DeploymentState
  readonly error: StatusError | null
  readonly components: readonly StepComponent[]
  /** The version of the desired state that it applies: + 1 each round. */
  readonly manifestVersion: number
}

export interface StepComponent {
  readonly name: string
  readonly state: DeploymentState
  readonly error: StatusError | null
}

const second = 1_000
/** From one round to the next. */
const period = 300 * second

const waiting = { code: 'WAITING_FOR_POLICY_AGENT', message: 'the policy agent has not released this deployment yet' }
const noCluster = { code: 'HostUnavailable', message: 'Unable to communicate with the Kubernetes cluster' }
const unreachable = { code: '102', message: 'Child device unreachable' }
const failures = [
  { code: 'InvalidArgument', message: "failed to provision volume with StorageClass 'default'" },
  { code: 'ImagePullBackOff', message: 'Back-off pulling image: 503 from the registry' },
  { code: 'RESOURCE_CONSTRAINTS_CANNOT_BE_MET', message: 'not enough memory: 512Mi wanted, 180Mi free' },
  { code: '507', message: 'disk full' },
] as const

export function* playScript({ device, rollout }: SimulatedDeployment, seed: number): Generator<Step, never> {
  const random = createRandom(`${seed}/script/${rollout.application} ${rollout.version}/${device.deviceId}`)
  // A few agents report INSTALLING before they have begun with a component, against the specification.
  const isDeviating = random.chance(0.02)
  // One in twenty is a canary. The others follow within a minute and a half.
  const head = random.chance(0.05) ? random.between(1, 5) * second : random.between(15, 90) * second
  let at = rollout.startsAt + head
  for (let round = 0; ; round += 1) {
    const begin = Math.max(at, rollout.startsAt + head + round * period)
    const isChild = device.reporter !== device.deviceId
    at = yield* playRound({ random, at: begin, round, rollout, isChild, isDeviating })
  }
}

interface Round {
  readonly random: Random
  readonly at: number
  readonly round: number
  readonly rollout: SimulatedDeployment['rollout']
  readonly isChild: boolean
  readonly isDeviating: boolean
}

/** Returns the end time. */
function* playRound(options: Round): Generator<Step, number> {
  const { random, round, rollout } = options
  const time = createTimeline(options)
  const all = (state: DeploymentState): StepComponent[] =>
    rollout.components.map((name) => ({ name, state, error: null }))
  if (round > 0 && random.chance(0.1)) {
    yield time.step('REMOVING', all('REMOVING'))
    time.pass(8)
    yield time.step('REMOVED', all('REMOVED'))
    time.pass(20)
  }
  if (random.chance(0.2)) {
    yield time.step('PENDING', all('PENDING'), waiting)
    time.pass(12)
  }
  if (random.chance(0.03)) {
    yield time.step('FAILED', all('PENDING'), noCluster)
    time.pass(40)
  }
  while (!(yield* playAttempt(options, time, all('PENDING')))) {
    // Some wait for a technician until the next round.
    if (random.chance(0.35)) break
    time.pass(35)
  }
  return time.now()
}

/** Installs one component after the other, until one fails. Returns whether all are installed. */
function* playAttempt(
  { random, isChild, isDeviating }: Round,
  time: Timeline,
  parts: StepComponent[],
): Generator<Step, boolean> {
  const failsAt = random.chance(0.12) ? random.index(parts.length) : -1
  const hangsAt = random.chance(0.03) ? random.index(parts.length) : -1
  const failure = isChild && random.chance(0.5) ? unreachable : random.pick(failures)
  if (isDeviating) yield time.step('INSTALLING', parts.slice())
  for (const [index, { name }] of parts.entries()) {
    time.pass(4)
    parts[index] = { name, state: 'INSTALLING', error: null }
    yield time.step('INSTALLING', parts.slice())
    time.pass(hangsAt === index ? 200 : 10)
    if (index === failsAt) {
      parts[index] = { name, state: 'FAILED', error: failure }
      yield time.step('FAILED', parts.slice(), failure)
      return false
    }
    parts[index] = { name, state: 'INSTALLED', error: null }
    const isLast = index === parts.length - 1
    yield time.step(isLast ? 'INSTALLED' : 'INSTALLING', parts.slice())
  }
  return true
}

interface Timeline {
  now(): number
  /** Lets time pass: some seconds around the median. */
  pass(median: number): void
  /** A step at this time. */
  step(state: DeploymentState, components: readonly StepComponent[], error?: StatusError | null): Step
}

function createTimeline({ random, at: begin, round }: Round): Timeline {
  let at = begin
  return {
    now: () => at,
    pass(median) {
      at += random.skewed(median) * second
    },
    step: (state, components, error = null) => ({ at, state, error, components, manifestVersion: round + 1 }),
  }
}
