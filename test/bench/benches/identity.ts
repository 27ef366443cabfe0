/** What it costs that ten thousand devices prove with each report who they are, and that reports are encrypted. */
import { createCertificates } from '../../auth/devices/certificates.ts'
import { newKey, type SigningKey, signed } from '../../auth/devices/signing.ts'
import { type Bench, type Lab, stated } from '../harness/bench.ts'
import { ask } from '../harness/clients/graphql.ts'
import { buildRequest, type HttpConnection, openConnection, openForEach } from '../harness/clients/http-connection.ts'
import { closedLoop } from '../harness/closed-loop.ts'
import { createFleet, deploymentName, deviceName, journey } from '../harness/fleet.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'

const devices = 10_000
const connections = 64
/** Devices that are registered by one operation. */
const step = 500
const rates = { DEVICE_RATE: 'off', ADDRESS_RATE: 'off' }

const registration = `mutation ($input: RegisterDevicesInput!) {
  registerDevices(input: $input) { ... on RegisterDevicesSuccess { results { token } } ... on UserError { message } } }`

/** How a report becomes a request. */
type Prove = (device: number, path: string, body: string) => readonly string[]

interface Variant {
  readonly env: Readonly<Record<string, string>>
  /** The headers, by what was registered. */
  readonly prove: (tokens: readonly string[], keys: readonly SigningKey[]) => Prove
  /** The headers are made for each sending. */
  readonly isFresh?: boolean
  readonly isTls?: boolean
}

export const identity: Bench = {
  name: 'identity',
  title: `${connections} connections POST reports of ${devices.toLocaleString('en-US')} registered devices that prove who they are; PostgreSQL`,
  async run(lab) {
    const certificates = await createCertificates()
    const { files } = await (await certificates.authority('bench')).issue('localhost')
    let nonce = 0
    const bearer: Variant['prove'] = (tokens) => (device) => [`Authorization: Bearer ${tokens[device]}`]
    const variants: Readonly<Record<string, Variant>> = {
      open: { env: { DEVICE_AUTH: 'open' }, prove: () => () => [] },
      token: { env: { DEVICE_AUTH: 'token' }, prove: bearer },
      signature: {
        env: { DEVICE_AUTH: 'signature' },
        isFresh: true,
        prove: (_, keys) => (device, path, body) => {
          const key = keys[device]
          if (!key) throw new Error('the device has no key')
          nonce += 1
          const headers = signed(key, { url: `http://bench${path}`, body, parameters: { nonce: String(nonce) } })
          return Object.entries(headers).map((header) => header.join(': '))
        },
      },
      'token, TLS': {
        env: { DEVICE_AUTH: 'token', TLS_CERT: files.cert, TLS_KEY: files.key },
        prove: bearer,
        isTls: true,
      },
    }
    const started: Reporting[] = []
    try {
      for (const [name, variant] of Object.entries(variants)) started.push(await start(lab, name, variant))
      const measures = started.map(({ name, measure }) => [name, (isWarmUp: boolean) => measure(isWarmUp, false)])
      const encrypted = started.find(({ name }) => name === 'token, TLS')
      if (!encrypted) throw new Error('nothing is encrypted')
      const samples = await interleave<string>(
        {
          ...(Object.fromEntries(measures) as Record<string, (isWarmUp: boolean) => Promise<Sample>>),
          'token, a handshake each': (isWarmUp) => encrypted.measure(isWarmUp, true),
        },
        lab.rounds,
      )
      const cpu = (one: string, other: string) =>
        ratio(samples[one] ?? [], samples[other] ?? [], ({ serverCpu }) => serverCpu)
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          stated('CPU of a report, token ÷ open', cpu('token', 'open')),
          stated('CPU of a report, signature (ECDSA P-256) ÷ open', cpu('signature', 'open')),
          stated('CPU of a report, token over TLS ÷ token', cpu('token, TLS', 'token')),
          stated('CPU of a report, with a TLS handshake ÷ without', cpu('token, a handshake each', 'token, TLS')),
        ],
        notes: [
          'each report was a change, was proved anew and was committed; signatures are made by the client meanwhile',
        ],
        wrong: [],
      }
    } finally {
      await Promise.all(started.map((one) => one.stop()))
      await certificates.remove()
    }
  },
}

interface Reporting {
  readonly name: string
  readonly measure: (isWarmUp: boolean, isEach: boolean) => Promise<Sample>
  stop(): Promise<void>
}

async function start(lab: Lab, name: string, { env, prove, isFresh, isTls = false }: Variant): Promise<Reporting> {
  const database = await lab.postgres()
  const databaseName = `identity_${name.replaceAll(/\W/g, '_').toLowerCase()}`
  const url = await database.create(databaseName)
  const keys = isFresh ? Array.from({ length: devices }, () => newKey['ecdsa-p256-sha256']()) : []
  // Registered in plain text: the operations are not what is measured.
  const plain = await startRollcall({ DATABASE_URL: url, ...rates })
  const tokens = await register(plain, keys).finally(() => plain.stop())
  const server = await startRollcall({ DATABASE_URL: url, ...rates, ...env })
  const headersOf = prove(tokens, keys)
  const sources = new Map<Buffer, readonly [number, string, string]>()
  const reports = Array.from({ length: devices }, (_, device) =>
    journey.map((state) => {
      const path = `/device/${deviceName(device)}/deployment/${deploymentName(device)}/status`
      const components = ['database', 'web'].map((component) => ({ name: component, state }))
      const body = JSON.stringify({ deploymentId: deploymentName(device), status: { state }, components })
      const request = buildRequest('POST', path, body, isFresh ? [] : headersOf(device, path, body))
      if (isFresh) sources.set(request, [device, path, body])
      return request
    }),
  )
  const fleet = createFleet(reports, connections)
  const load = {
    connections,
    next(connection: number) {
      const request = fleet.next(connection)
      const source = sources.get(request)
      return source ? buildRequest('POST', source[1], source[2], headersOf(...source)) : request
    },
    check: fleet.check,
  }
  const openAll = (count: number, isEach: boolean): Promise<readonly HttpConnection[]> =>
    Promise.all(
      Array.from({ length: count }, () =>
        isEach ? openForEach(server.port, isTls) : openConnection(server.port, isTls),
      ),
    )
  const measure: Reporting['measure'] = (isWarmUp, isEach) =>
    closedLoop(load, { server, database, open: (count) => openAll(count, isEach) }, isWarmUp ? 1 : lab.seconds)
  // The first report of a device costs more than a change.
  while (fleet.acknowledged < devices) await measure(true, false)
  return {
    name,
    measure,
    async stop() {
      await server.stop()
      await database.drop(databaseName)
    },
  }
}

/** Their tokens. */
async function register({ url }: Program, keys: readonly SigningKey[]): Promise<string[]> {
  const tokens: string[] = []
  for (let first = 0; first < devices; first += step) {
    const some = Array.from({ length: step }, (_, index) => {
      const key = keys[first + index]
      return { deviceId: deviceName(first + index), ...(key && { publicKeys: [key.publicKey] }) }
    })
    const { registerDevices } = await ask<{ registerDevices: { results: { token: string }[] } }>(
      `${url}/graphql`,
      registration,
      { input: { devices: some } },
    )
    tokens.push(...registerDevices.results.map(({ token }) => token))
  }
  return tokens
}
