/** The simulated fleet: devices of every generation, some behind gateways, and the rollouts. Pure: the seed decides everything. */
import { createRandom, type Random } from './random.ts'

const generationNames = ['2024-06', '2024-09', '0.0.1', '2025-10', '1.0.0', 'vendor', 'rc.3', 'gateway'] as const
export type Generation = (typeof generationNames)[number]

export interface SimulatedDevice {
  readonly deviceId: string
  /** The sender of its reports: the device itself, or its gateway. */
  readonly reporter: string
  readonly site: string
  readonly model: string
  readonly generation: Generation
  /** Milliseconds by which its clock is ahead of the true time. Never near the server's tolerance of five minutes. */
  readonly clockError: number
}

export interface SimulatedDeployment {
  readonly deploymentId: string
  readonly device: SimulatedDevice
  readonly rollout: SimulatedRollout
}

export interface SimulatedRollout {
  readonly name: string
  readonly application: string
  readonly version: string
  readonly components: readonly string[]
  /** Milliseconds after the start. */
  readonly startsAt: number
}

export interface Fleet {
  readonly devices: readonly SimulatedDevice[]
  readonly rollouts: readonly SimulatedRollout[]
  readonly deployments: readonly SimulatedDeployment[]
}

export interface FleetSize {
  readonly devices: number
  readonly rollouts: number
  readonly seed: number
  /** Distinguishes the rollouts and deployments of this run from others on the same server. */
  readonly run: string
}

const second = 1_000
const hour = 3_600 * second

const applications = [
  { application: 'digitron', components: ['orchestrator', 'historian', 'dashboard'] },
  { application: 'pump-control', components: ['plc-bridge', 'regulator'] },
  { application: 'vision-inspect', components: ['camera-feed', 'model-server', 'reject-gate', 'archive'] },
  { application: 'energy-meter', components: ['collector'] },
] as const satisfies readonly { application: string; components: readonly string[] }[]

const models = ['press', 'pump', 'oven', 'mixer', 'robot'] as const
const sites = ['hamburg', 'lyon', 'porto', 'gdansk'] as const
/** Children of one gateway. */
const children = 6
/** One in this many devices is a child of a gateway. */
const childShare = 0.12

export function planFleet({ devices: size, rollouts: count, seed, run }: FleetSize): Fleet {
  const random = createRandom(String(seed))
  const devices = Array.from({ length: size }, (_, index) => planDevice(random.of('device').of(index), index, size))
  const rollouts = Array.from({ length: count }, (_, index) => planRollout(index, run))
  const deployments = rollouts.flatMap((rollout, index) =>
    devices
      // Each device belongs to at least one rollout.
      .filter((device, n) => n % count === index || random.of(rollout.application).of(device.deviceId).chance(0.5))
      .map((device) => ({
        deploymentId: uuid(createRandom(`${run}/${rollout.name}/${device.deviceId}`)),
        device,
        rollout,
      })),
  )
  return { devices, rollouts, deployments }
}

/** The first devices are children of gateways, so that a small fleet has some too. */
function planDevice(random: Random, index: number, size: number): SimulatedDevice {
  const site = random.pick(sites)
  const model = random.pick(models)
  const clockError = planClockError(random)
  const number = String(index + 1).padStart(4, '0')
  if (index < Math.ceil(size * childShare)) {
    const gateway = `gateway-${Math.floor(index / children) + 1}`
    const deviceId = `${gateway}/${model}-${number}`
    return { deviceId, reporter: gateway, site, model, generation: 'gateway', clockError }
  }
  const deviceId = `${model}-${number}`
  const generation = random.pick(['2024-06', '2024-09', '0.0.1', '2025-10', '1.0.0', 'vendor', 'rc.3', 'rc.3'])
  return { deviceId, reporter: deviceId, site, model, generation, clockError }
}

/** Most clocks are right. Some were never set, and some are in another time zone. */
function planClockError(random: Random): number {
  if (random.chance(0.9)) return random.between(-2, 2) * second
  return random.pick([-400 * 24, -1, 2, 9]) * hour
}

function planRollout(index: number, run: string): SimulatedRollout {
  const { application, components } = applications[index % applications.length] ?? applications[0]
  const version = `${1 + Math.floor(index / applications.length)}.0`
  return { name: `${application} ${version} (${run})`, application, version, components, startsAt: index * 20 * second }
}

function uuid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => random.index(16).toString(16)).join('')
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `4${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20),
  ].join('-')
}
