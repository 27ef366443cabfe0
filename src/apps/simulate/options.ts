/** Parses the command line of `npm run simulate`. */
import {
  bearerToken,
  commandOf,
  parseDuration,
  parseFlags,
  serverAddress,
  UsageError,
} from '../../server/process/arguments.ts'
import type { SimulationOptions } from './simulation.ts'

export const usage = `Usage: ${commandOf('simulate')} [options]

Simulates a fleet against a running Rollcall server: devices that report, an orchestrator that rolls out to Kubernetes clusters, and
devices that fetch their desired state.

  --url URL          address of the server (default http://127.0.0.1:4000)
  --mqtt URL         the devices of rollouts report through this MQTT 5 broker (default: over HTTP)
  --devices N        number of devices (default 500)
  --rollouts N       number of rollouts on these devices (default 3)
  --clusters N       number of clusters that composite applications run on (default 6); 0: none
  --agents N         number of devices that fetch and apply their desired state (default 12); 0: none
  --seed N           the same seed repeats the same simulation (default 1)
  --speed N          speed factor; 1 is real time (default 1)
  --duration TIME    such as 90s, 2m or 1h (default: until Ctrl-C)
  --run NAME         suffix that keeps this run's names unique on the server (default: from the time)
  --token TOKEN      API key or token, if the API requires one (default: ROLLCALL_TOKEN)
  --help             show this help

Exit codes: 0 the server accepted everything, 1 it refused what is valid, 64 wrong command line, 69 server unusable.
`

type ParsedOptions = { readonly isHelp: true } | ({ readonly isHelp: false } & SimulationOptions)

const options = {
  url: { type: 'string', default: 'http://127.0.0.1:4000' },
  mqtt: { type: 'string' },
  devices: { type: 'string', default: '500' },
  rollouts: { type: 'string', default: '3' },
  clusters: { type: 'string', default: '6' },
  agents: { type: 'string', default: '12' },
  seed: { type: 'string', default: '1' },
  speed: { type: 'string', default: '1' },
  duration: { type: 'string' },
  run: { type: 'string' },
  token: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** Throws a UsageError. */
export function parseOptions(args: readonly string[], env: NodeJS.ProcessEnv, now: number): ParsedOptions {
  const values = parseFlags(args, options)
  if (values.help) return { isHelp: true }
  const token = bearerToken(values.token, env)
  return {
    isHelp: false,
    url: serverAddress(values.url, {}),
    ...(values.mqtt !== undefined && { mqtt: brokerAddress(values.mqtt) }),
    devices: wholeNumber('--devices', values.devices, 1, 100_000),
    rollouts: wholeNumber('--rollouts', values.rollouts, 1, 50),
    clusters: wholeNumber('--clusters', values.clusters, 0, 1_000),
    agents: wholeNumber('--agents', values.agents, 0, 10_000),
    seed: wholeNumber('--seed', values.seed, 0, Number.MAX_SAFE_INTEGER),
    speed: positive('--speed', values.speed),
    duration: values.duration === undefined ? null : parseDuration('--duration', values.duration),
    run: values.run ?? now.toString(36),
    ...(token ? { token } : {}),
  }
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  throw new UsageError(`${name} must be a whole number from ${least} to ${most}, but is ${JSON.stringify(text)}`)
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (/^\d{1,15}(\.\d{1,15})?$/.test(text) && value > 0) return value
  throw new UsageError(`${name} must be a number greater than 0, but is ${JSON.stringify(text)}`)
}

function brokerAddress(text: string): string {
  if (/^(mqtts?|wss?):\/\//.test(text) && URL.parse(text)?.hostname.endsWith('.') === false) return text
  throw new UsageError(`--mqtt must be an address such as mqtt://127.0.0.1:1883, but is ${JSON.stringify(text)}`)
}
