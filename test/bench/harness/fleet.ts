/** Devices that report: each has one deployment with two components, and every report really changes all three. */
import { createHash } from 'node:crypto'
import type { Answer } from './clients/http-connection.ts'
import { buildRequest } from './clients/http-connection.ts'

/** What a deployment and its components go through, over and over. */
export const journey = ['removing', 'installing', 'installed'] as const

export interface Fleet {
  /** The next report of one of the connection's own devices, in another order each time round. A device's reports never overtake each other. */
  next(connection: number): Buffer
  /** The same for a caller that picks the device. */
  report(device: number): Buffer
  /** Counts an acknowledgement. */
  check(connection: number, answer: Answer): string | null
  readonly acknowledged: number
  /** The state of a device's deployment after its last report, in the API's spelling; null: it never reported. */
  lastState(device: number): string | null
}

export interface FleetOptions {
  readonly devices: number
  readonly connections: number
}

/** Names have no order, as those of the usual fleet: a row of an index is mostly on another page than the last one. */
export function deviceName(device: number): string {
  return `edge-${randomUuid(`device ${device}`)}`
}

/** A UUID, as Margo's specification demands: another name is counted as a deviation, which costs each report. */
export function deploymentName(device: number): string {
  return randomUuid(`deployment ${device}`)
}

/** The same for the same text. */
function randomUuid(text: string): string {
  const digits = createHash('sha256').update(text).digest('hex')
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`
}

/** Larger than the devices of a connection, so each is a step that reaches all of them. */
const steps = [7_919, 104_729, 611_953, 1_299_709] as const

/** Requests are built before anything is measured, and shared by all variants. */
export function buildReports(devices: number, namesOf = ownNames): readonly (readonly Buffer[])[] {
  return Array.from({ length: devices }, (_, device) => journey.map((state) => buildReport(namesOf(device), state)))
}

export function createFleet(reports: readonly (readonly Buffer[])[], connections: number, floor = false): Fleet {
  const devices = reports.length
  const sent = new Uint32Array(devices)
  const place = new Uint32Array(connections)
  let acknowledged = 0

  function report(device: number): Buffer {
    const number = sent[device] ?? 0
    sent[device] = number + 1
    const request = reports[device]?.[number % journey.length]
    if (!request) throw new Error(`there is no device ${device}`)
    return request
  }

  return {
    report,
    next(connection) {
      const own = Math.floor((devices - 1 - connection) / connections) + 1
      const turn = place[connection] ?? 0
      place[connection] = turn + 1
      const step = steps[Math.floor(turn / own) % steps.length] ?? 1
      return report(connection + ((turn * step) % own) * connections)
    },
    check(_, { status, body }) {
      if (status !== 201) return `a report was answered with ${status} ${body.toString()}`
      acknowledged += 1
      if (!floor && !body.includes('"verdict":"APPLIED"')) return `a change was answered with ${body.toString()}`
      return null
    },
    get acknowledged() {
      return acknowledged
    },
    lastState(device) {
      const count = sent[device] ?? 0
      return count === 0 ? null : (journey[(count - 1) % journey.length]?.toUpperCase() ?? null)
    },
  }
}

interface Names {
  readonly deviceId: string
  readonly deploymentId: string
}

function ownNames(device: number): Names {
  return { deviceId: deviceName(device), deploymentId: deploymentName(device) }
}

function buildReport({ deviceId, deploymentId }: Names, state: string): Buffer {
  const body = JSON.stringify({
    apiVersion: 'deployment.margo/v1',
    kind: 'DeploymentStatus',
    deploymentId,
    status: { state },
    components: [
      { name: 'database', state },
      { name: 'web', state },
    ],
  })
  return buildRequest('POST', `/device/${deviceId}/deployment/${deploymentId}/status`, body)
}
