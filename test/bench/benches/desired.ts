/** What it costs that a fleet asks again and again whether it should run something else, and should not. */
import { createHash } from 'node:crypto'
import postgres from 'postgres'
import { type Bench, stated } from '../harness/bench.ts'
import { ask } from '../harness/clients/graphql.ts'
import { buildRequest } from '../harness/clients/http-connection.ts'
import { closedLoop, type Load } from '../harness/closed-loop.ts'
import { deploymentName, deviceName } from '../harness/fleet.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf } from '../harness/rounds.ts'
import { spread } from '../harness/statistics.ts'

const devices = 10_000
const connections = 128
/** Declared, or registered, in one operation. */
const step = 500

const declaration = `mutation ($input: DeclareDeploymentsInput!) {
  declareDeployments(input: $input) { ... on DeclareDeploymentsSuccess { __typename } ... on UserError { message } } }`
const registration = `mutation ($input: RegisterDevicesInput!) {
  registerDevices(input: $input) { ... on RegisterDevicesSuccess { results { token } } ... on UserError { message } } }`

export const desired: Bench = {
  name: 'desired',
  title: `${connections} connections ask for the manifests of ${devices.toLocaleString('en-US')} devices, which have not changed; PostgreSQL`,
  async run(lab) {
    const database = await lab.postgres()
    const url = await database.create('desired')
    const server = await startRollcall({ DATABASE_URL: url })
    const guarded = await startRollcall({
      DATABASE_URL: url,
      DEVICE_AUTH: 'token',
      ADDRESS_RATE: 'off',
      DEVICE_RATE: 'off',
    })
    const floor = await startProgram({ script: 'test/bench/floors/unchanged.ts' })
    try {
      const tokens = await declareAll(server)
      const paths = Array.from({ length: devices }, (_, device) => `/api/v1/clients/${deviceName(device)}/deployments`)
      const tags = await readTags(server, paths)
      const again = await readTags(guarded, paths, tokens)
      if (paths.some((path) => tags.get(path) !== again.get(path))) throw new Error('two replicas tell different bytes')
      await fetch(floor.url, { method: 'POST', body: JSON.stringify(Object.fromEntries(tags)) })

      const named = paths.map((path) => buildRequest('GET', path, '', [`If-None-Match: ${tags.get(path)}`]))
      const shown = paths.map((path, device) =>
        buildRequest('GET', path, '', [`If-None-Match: ${tags.get(path)}`, `Authorization: Bearer ${tokens[device]}`]),
      )
      const measure =
        (program: Program, requests: readonly Buffer[], db = true) =>
        (isWarmUp: boolean) =>
          closedLoop(polling(requests), { server: program, ...(db && { database }) }, isWarmUp ? 1 : lab.seconds)
      const reads = await countReads(url)
      const samples = await interleave(
        {
          ours: measure(server, named),
          'ours, each with its token': measure(guarded, shown),
          floor: measure(floor, named, false),
        },
        lab.rounds,
      )
      const { polls, documents } = await reads()
      const cpu = ({ serverCpu }: { serverCpu: number }) => serverCpu
      return {
        rows: rowsOf(samples, 'polls/s'),
        claims: [
          stated('ours ÷ floor (node:http that answers 304)', ratio(samples.ours, samples.floor)),
          stated('server CPU, ours ÷ floor', ratio(samples.ours, samples.floor, cpu)),
          stated('with tokens ÷ floor', ratio(samples['ours, each with its token'], samples.floor)),
          stated('of one core, a fleet that polls every 30 s', share(samples.ours.map(cpu)), '%'),
        ],
        notes: [
          'every answer was a 304 without a body; before, each manifest was asked for once, and its tag was the digest of its bytes',
          `the manifests' tables were read ${polls.toLocaleString('en-US')} times, documents and their lists ${documents} times`,
        ],
        wrong: documents > 0 ? [`polls read documents or what lists them ${documents} times`] : [],
      }
    } finally {
      await Promise.all([server, guarded, floor].map((program) => program.stop()))
      await database.drop('desired')
    }
  },
}

/** In percent. */
function share(microseconds: readonly number[]): ReturnType<typeof spread> {
  return spread(microseconds.map((each) => (each * devices * 100) / 30 / 1e6))
}

function polling(requests: readonly Buffer[]): Load {
  let turn = 0
  return {
    connections,
    next: () => requests[turn++ % requests.length] ?? Buffer.alloc(0),
    check: (_, { status, body }) =>
      status === 304 && body.length === 0
        ? null
        : `a poll was answered with ${status} ${body.toString().slice(0, 300)}`,
  }
}

/** Each device one deployment of two components; their tokens. */
async function declareAll({ url }: Program): Promise<string[]> {
  const tokens: string[] = []
  for (let first = 0; first < devices; first += step) {
    const some = Array.from({ length: step }, (_, index) => first + index)
    const made = await ask<{ registerDevices: { results: { token: string }[] } }>(`${url}/graphql`, registration, {
      input: { devices: some.map((device) => ({ deviceId: deviceName(device) })) },
    })
    tokens.push(...made.registerDevices.results.map(({ token }) => token))
    const deployments = some.map((device) => ({
      deviceId: deviceName(device),
      deploymentId: deploymentName(device),
      document: documentOf(device),
    }))
    const told = await ask<{ declareDeployments: { message?: string } }>(`${url}/graphql`, declaration, {
      input: { deployments },
    })
    if (told.declareDeployments.message) throw new Error(told.declareDeployments.message)
  }
  return tokens
}

function documentOf(device: number): string {
  return JSON.stringify({
    id: deploymentName(device),
    metadata: { name: deploymentName(device), namespace: 'bench' },
    spec: {
      applicationId: 'bench',
      deploymentProfile: { type: 'compose', components: [{ name: 'database' }, { name: 'web' }] },
      parameters: { site: { value: `site ${device}`, targets: [{ pointer: 'SITE', components: ['web'] }] } },
    },
  })
}

async function readTags(
  { url }: Program,
  paths: readonly string[],
  tokens: readonly string[] = [],
): Promise<Map<string, string>> {
  const tags = new Map<string, string>()
  for (const [device, path] of paths.entries()) {
    const response = await fetch(`${url}${path}`, {
      headers: tokens[device] ? { authorization: `Bearer ${tokens[device]}` } : {},
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const etag = response.headers.get('etag') ?? ''
    const digest = createHash('sha256').update(bytes).digest('hex')
    if (response.status !== 200 || etag !== `"sha256:${digest}"` || !bytes.includes('"manifestVersion":2'))
      throw new Error(`${path} was answered with ${response.status} ${etag} ${bytes}`)
    tags.set(path, etag)
  }
  return tags
}

/** From now on: how often the database looked into the tables. */
async function countReads(url: string): Promise<() => Promise<{ polls: number; documents: number }>> {
  const read = async () => {
    // What a connection has counted it tells when it has been idle for ten seconds, at the latest.
    await new Promise((resolve) => setTimeout(resolve, 11_000))
    const sql = postgres(url, { max: 1 })
    try {
      const rows = await sql<{ name: string; scans: number }[]>`select relname as name,
        (coalesce(seq_scan, 0) + coalesce(idx_scan, 0))::int as scans from pg_stat_user_tables`
      const of = (name: string) => rows.find((row) => row.name === name)?.scans ?? 0
      return { polls: of('manifests'), documents: of('desired_documents') + of('manifest_entries') }
    } finally {
      await sql.end()
    }
  }
  const before = await read()
  return async () => {
    const now = await read()
    return { polls: now.polls - before.polls, documents: now.documents - before.documents }
  }
}
