/** Reports through a broker, beside the same reports over HTTP: the same server, database and number of reports in flight. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import { sendAtOnce } from '../../../src/api/mqtt/connection.ts'
import { answers, freePort } from '../../support/servers/ports.ts'
import { atLeast, type Bench, stated } from '../harness/bench.ts'
import { closedLoop, WrongAnswer } from '../harness/closed-loop.ts'
import { buildReports, createFleet, deploymentName, deviceName, type Fleet } from '../harness/fleet.ts'
import { type Program, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'
import { connections } from './ingest.ts'

const devices = 2_000
const bodyBegin = Buffer.from('\r\n\r\n')

export const mqtt: Bench = {
  name: 'mqtt',
  title: `reports of ${devices.toLocaleString('en-US')} devices through Mosquitto, ${connections} in flight, each answered; beside HTTP; PostgreSQL`,
  async run(lab) {
    const postgres = await lab.postgres()
    const database = await postgres.create('mqtt')
    const broker = await startBroker()
    const server = await startRollcall({ DATABASE_URL: database, MQTT_URL: broker.url, LOG_LEVEL: 'error' })
    const reports = buildReports(devices)
    const fleet = createFleet(reports, connections)
    const overHttp = { connections, next: fleet.next, check: fleet.check }
    const publishers = await Promise.all(Array.from({ length: connections }, () => connectPublisher(broker.url)))
    try {
      while (fleet.acknowledged < devices) await closedLoop(overHttp, { server, database: postgres }, 0.5)
      const time = (isWarmUp: boolean): number => (isWarmUp ? 1 : lab.seconds)
      const samples = await interleave(
        {
          mqtt: (isWarmUp) => publishAll(publishers, fleet, { server, database: postgres }, time(isWarmUp)),
          http: (isWarmUp) => closedLoop(overHttp, { server, database: postgres }, time(isWarmUp)),
        },
        lab.rounds,
      )
      return {
        rows: rowsOf(samples, 'reports/s'),
        claims: [
          atLeast('reports a second, MQTT ÷ HTTP', ratio(samples.mqtt, samples.http), 0.7),
          stated(
            'server CPU, MQTT ÷ HTTP',
            ratio(samples.mqtt, samples.http, (sample) => sample.serverCpu),
          ),
        ],
        notes: ['the broker and the client run on the same cores'],
        wrong: [],
      }
    } finally {
      await Promise.all(publishers.map(({ client }) => client.endAsync(true)))
      await server.stop()
      broker.stop()
      await postgres.drop('mqtt')
    }
  },
}

interface Publisher {
  readonly client: MqttClient
  /** Receives the next answer. */
  answered: (body: Buffer) => void
}

/** One report is in flight on each connection, as over HTTP. */
async function connectPublisher(url: string): Promise<Publisher> {
  const client = await connectAsync(url, { protocolVersion: 5 })
  sendAtOnce(client)
  const publisher: Publisher = { client, answered: () => {} }
  client.on('message', (_, payload) => publisher.answered(payload))
  return publisher
}

async function publishAll(
  publishers: readonly Publisher[],
  fleet: Fleet,
  { server, database }: { readonly server: Program; readonly database: { cpu(): number } },
  seconds: number,
): Promise<Sample> {
  let [operations, isOver] = [0, false]
  const ids = Array.from({ length: devices }, (_, device) => [deviceName(device), deploymentName(device)] as const)

  async function work(publisher: Publisher, connection: number): Promise<void> {
    for (let turn = 0; !isOver; turn += 1) {
      const own = Math.floor((devices - 1 - connection) / publishers.length) + 1
      const device = connection + (turn % own) * publishers.length
      const [deviceId = '', deploymentId = ''] = ids[device] ?? []
      const request = fleet.report(device)
      const body = request.subarray(request.indexOf(bodyBegin) + bodyBegin.length)
      const responseTopic = `rollcall/${deviceId}/responses`
      if (!subscribed.has(responseTopic)) {
        subscribed.add(responseTopic)
        await publisher.client.subscribeAsync(responseTopic, { qos: 1 })
      }
      const answer = new Promise<Buffer>((resolve) => {
        publisher.answered = resolve
      })
      const topic = `rollcall/${deviceId}/deployments/${deploymentId}/status`
      publisher.client.publish(topic, body, { qos: 1, properties: { responseTopic } })
      const problem = fleet.check(connection, { status: 201, body: await answer })
      if (problem) throw new WrongAnswer(problem)
      operations += 1
    }
  }

  const workers = Promise.all(publishers.map(work))
  workers.catch(() => undefined)
  await pause(Math.min(500, seconds * 250))
  const read = () => ({ operations, time: performance.now(), server: server.cpu(), database: database.cpu() })
  const [before, client] = [read(), process.cpuUsage()]
  await pause(seconds * 1_000)
  const after = read()
  const used = process.cpuUsage(client)
  isOver = true
  await workers
  const [done, elapsed] = [after.operations - before.operations, (after.time - before.time) / 1_000]
  return {
    rate: done / elapsed,
    serverCpu: ((after.server - before.server) / done) * 1e6,
    databaseCpu: ((after.database - before.database) / done) * 1e6,
    clientCpu: (used.user + used.system) / 1e6 / elapsed,
  }
}

const subscribed = new Set<string>()

async function startBroker(): Promise<{ readonly url: string; stop(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'))
  const port = await freePort()
  const configuration = join(folder, 'mosquitto.conf')
  writeFileSync(
    configuration,
    `listener ${port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nset_tcp_nodelay true\n`,
  )
  const path = `${process.env.PATH ?? ''}:/usr/sbin`
  const child = spawn('mosquitto', ['-c', configuration], { stdio: 'ignore', env: { PATH: path } })
  process.on('exit', () => child.kill('SIGKILL'))
  while (!(await answers(port))) await pause(20)
  return {
    url: `mqtt://127.0.0.1:${port}`,
    stop() {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time))
}
