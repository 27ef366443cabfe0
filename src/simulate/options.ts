/** What stands on the command line of `npm run simulate`. */
import { parseArgs } from 'node:util'
import { parseDuration, UsageError } from '../cli/arguments.ts'
import type { SimulationOptions } from './simulation.ts'

export const usage = `Usage: npm run simulate -- [options]

Plays a fleet of devices, an orchestrator that rolls out to Kubernetes clusters, and devices that fetch what they should run, against
a running Rollcall, and checks in the end that the server knows what it has acknowledged.

  --url URL          where the server is (http://127.0.0.1:4000)
  --devices N        how many devices (500)
  --rollouts N       how many rollouts they take part in (3)
  --clusters N       on how many clusters composite applications are rolled out, updated and terminated (6); 0: none
  --agents N         how many devices fetch what they should run, and apply it (12); 0: none
  --seed N           the same seed makes the same fleet do the same (1)
  --speed N          so many times as fast as people and networks are (1)
  --duration TIME    how long, such as 90s, 2m or 1h; without it until Ctrl-C
  --run NAME         tells this run's rollouts from others on the same server (made from the time)
  --token TOKEN      for the GraphQL API, if it asks who you are; also by ROLLCALL_TOKEN
  --help

Exit code: 0 all agrees, 1 something differs, 64 the command line is wrong, 69 the server cannot be used.
`

export type ParsedOptions = { readonly isHelp: true } | ({ readonly isHelp: false } & SimulationOptions)

/** Throws a UsageError. */
export function parseOptions(args: readonly string[], env: NodeJS.ProcessEnv, now: number): ParsedOptions {
  const { values } = parse(args)
  if (values.help) return { isHelp: true }
  const token = values.token ?? env.ROLLCALL_TOKEN
  return {
    isHelp: false,
    url: webAddress(values.url),
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

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        url: { type: 'string', default: 'http://127.0.0.1:4000' },
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
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw new UsageError(`${name} must be a whole number from ${least} to ${most}, but is ${JSON.stringify(text)}`)
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new UsageError(`${name} must be a number greater than 0, but is ${JSON.stringify(text)}`)
}

function webAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text
  throw new UsageError(`--url must be an address such as http://127.0.0.1:4000, but is ${JSON.stringify(text)}`)
}
