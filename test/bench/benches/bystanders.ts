/**
 * What subscribers cost that a report does not concern. A report that five subscribers watch, and one that none watches,
 * are measured beside few and beside many others. Each subscriber watches one deployment, four of them on a socket.
 *
 * Heartbeats cost CPU whether there are reports or not, so what a server uses without reports is measured first,
 * subtracted, and stated on its own.
 */
import { atMost, type Bench, type Finding, type Lab, stated } from '../harness/bench.ts'
import { openConnection } from '../harness/clients/http-connection.ts'
import { openWebSocket, type RawSocket } from '../harness/clients/websocket.ts'
import { WrongAnswer } from '../harness/closed-loop.ts'
import { buildReports, createFleet, deploymentName, type Fleet } from '../harness/fleet.ts'
import { type Program, startProgram, startRollcall } from '../harness/process.ts'
import { interleave, ratio, rowsOf, type Sample } from '../harness/rounds.ts'
import { spread } from '../harness/statistics.ts'

const [few, many] = [1_000, 20_000]
const watchersEach = 5
/** Deployments that report and are watched. As many others report and are not watched. */
const watched = few / watchersEach
const perSocket = 4

const query = `subscription ($id: String!) {
  deployment(deploymentId: $id) { cursor deployment { deploymentId state } }
}`

interface Population {
  readonly program: Program
  readonly fleet: Fleet
  readonly sockets: readonly RawSocket[]
  /** Resolves when so many updates came. */
  heard(count: number): Promise<void>
  received(): number
  /** Seconds of CPU a second without reports. */
  idle: number
}

export const bystanders: Bench = {
  name: 'bystanders',
  title: `a report that five or no WebSocket subscribers watch, beside 0 to ${many.toLocaleString('en-US')} others`,
  run,
}

async function run(lab: Lab): Promise<Finding> {
  const database = await lab.postgres()
  const wrong: string[] = []
  const populations: Population[] = []
  const start = async (size: number): Promise<Population> => {
    const url = await database.create(`bystanders_${size}`)
    const population = await populate(await startRollcall({ DATABASE_URL: url }), size, perSocket, false, wrong)
    populations.push(population)
    return population
  }
  try {
    const [none, some, all] = [await start(0), await start(few), await start(many)]
    const topics = await startProgram({ script: 'test/bench/floors/topics.ts' })
    const floor = await populate(topics, few, 1, true, wrong)
    populations.push(floor)
    for (const population of populations) await warmUp(population, population === none, wrong)
    for (const population of populations) population.idle = await measureIdle(population, lab.seconds)
    const measure = (population: Population, isWatched: boolean) => (isWarmUp: boolean) =>
      measureReports(population, isWatched, isWarmUp ? 0.5 : lab.seconds, wrong)
    const samples = await interleave(
      {
        'five watch, floor': measure(floor, true),
        [`five watch, ${few}`]: measure(some, true),
        [`five watch, ${many}`]: measure(all, true),
        'none watches, 0': measure(none, false),
        [`none watches, ${many}`]: measure(all, false),
      },
      lab.rounds,
    )
    const of = (name: string): readonly Sample[] => samples[name] ?? []
    const cpu = (a: string, b: string) => ratio(of(a), of(b), ({ serverCpu }) => serverCpu)
    const difference = (size: number) =>
      of(`five watch, ${size}`).map(
        ({ serverCpu }, round) => serverCpu - (of('none watches, 0')[round]?.serverCpu ?? 0),
      )
    const ofFloor = (microseconds: readonly number[]) =>
      spread(microseconds.map((one, round) => one / (of('five watch, floor')[round]?.serverCpu ?? 1)))
    /** The least that storing a report and delivering it costs: a report without subscribers, and the floor. */
    const ofBoth = (size: number) =>
      spread(
        of(`five watch, ${size}`).map(({ serverCpu }, round) => {
          const [stored, delivered] = [of('none watches, 0')[round], of('five watch, floor')[round]]
          return serverCpu / ((stored?.serverCpu ?? 0) + (delivered?.serverCpu ?? 0))
        }),
      )
    const claims = [
      // A report without subscribers is committed to disk. The floor stores nothing, so only what the five add is compared.
      atMost(
        `CPU that five of ${few} subscribers add to a report ÷ floor (Map<topic, Set>)`,
        ofFloor(difference(few)),
        3,
      ),
      stated(`the same of ${many}`, ofFloor(difference(many))),
      atMost(`CPU of a report that five of ${few} watch ÷ one without subscribers + floor`, ofBoth(few), 3),
      stated(`the same of ${many}`, ofBoth(many)),
      stated(`CPU of a report that five of ${few} watch ÷ floor`, cpu(`five watch, ${few}`, 'five watch, floor')),
      stated('CPU of a report that none watches ÷ floor', cpu('none watches, 0', 'five watch, floor')),
      atMost(
        `CPU of a report that five watch, beside ${many} ÷ ${few}`,
        cpu(`five watch, ${many}`, `five watch, ${few}`),
        1.25,
      ),
      atMost(
        `CPU of a report that none watches, beside ${many} ÷ 0`,
        cpu(`none watches, ${many}`, 'none watches, 0'),
        1.25,
      ),
      stated(`CPU of ${many} idle subscribers on ${many / perSocket} sockets`, spread([all.idle * 1000]), 'ms/s'),
      stated('CPU without subscribers and reports', spread([none.idle * 1000]), 'ms/s'),
    ]
    return {
      rows: rowsOf(samples, 'reports/s'),
      claims,
      notes: ['each report waits until its subscribers have received the one before'],
      wrong: wrong.slice(0, 5),
    }
  } finally {
    for (const { sockets } of populations) for (const socket of sockets) socket.close()
    await Promise.all(populations.map(({ program }) => program.stop()))
    for (const size of [0, few, many]) await database.drop(`bystanders_${size}`)
  }
}

/** The first subscribers watch what reports; the others watch deployments that never do. */
async function populate(
  program: Program,
  size: number,
  each: number,
  isFloor: boolean,
  wrong: string[],
): Promise<Population> {
  let received = 0
  let wanted = 0
  let reached = (): void => undefined
  const hear = (message: Buffer): void => {
    if (message.includes('"errors"')) wrong.push(message.toString())
    received += 1
    if (received >= wanted) reached()
  }
  const heard = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new WrongAnswer(`${received} of ${count} updates came`)), 60_000)
      wanted = count
      reached = () => {
        clearTimeout(timer)
        resolve()
      }
      if (received >= count) reached()
    })
  const sockets: RawSocket[] = []
  const idOf = (subscriber: number): string =>
    subscriber < few ? deploymentName(subscriber % watched) : `quiet-${Math.floor(subscriber / watchersEach)}`
  for (let begun = 0; begun < size; begun += 100) {
    const opening: Promise<RawSocket>[] = []
    for (let first = begun; first < begun + 100; first += each)
      opening.push(
        openSocket(
          program.port,
          Array.from({ length: each }, (_, index) => idOf(first + index)),
          hear,
        ),
      )
    sockets.push(...(await Promise.all(opening)))
  }
  // Ours begins with the present state: that there is no such deployment.
  if (!isFloor) await heard(size)
  return {
    program,
    fleet: createFleet(buildReports(2 * watched), 1, isFloor),
    sockets,
    heard,
    received: () => received,
    idle: 0,
  }
}

async function openSocket(port: number, ids: readonly string[], hear: (message: Buffer) => void): Promise<RawSocket> {
  const { promise: isReady, resolve: ready } = Promise.withResolvers<void>()
  const socket = await openWebSocket(port, '/graphql', 'graphql-transport-ws', (message) => {
    if (message.includes('"type":"next"')) hear(message)
    else if (message.includes('connection_ack')) ready()
  })
  socket.send('{"type":"connection_init"}')
  await isReady
  for (const [index, id] of ids.entries())
    socket.send(JSON.stringify({ id: String(index + 1), type: 'subscribe', payload: { query, variables: { id } } }))
  return socket
}

/** Creates the deployments: later reports only change them. */
async function warmUp(population: Population, isUnwatched: boolean, wrong: string[]): Promise<void> {
  const connection = await openConnection(population.program.port)
  for (let device = 0; device < 2 * watched; device += 1)
    await report(population, connection, device, !isUnwatched && device < watched, wrong)
  connection.close()
}

async function report(
  { fleet, heard, received }: Population,
  connection: Awaited<ReturnType<typeof openConnection>>,
  device: number,
  isWatched: boolean,
  wrong: string[],
): Promise<void> {
  const updated = isWatched ? heard(received() + watchersEach) : null
  const problem = fleet.check(0, await connection.send(fleet.report(device)))
  if (problem) wrong.push(problem)
  await updated
}

async function measureIdle({ program }: Population, seconds: number): Promise<number> {
  const [began, used] = [performance.now(), program.cpu()]
  await new Promise((resolve) => setTimeout(resolve, Math.max(seconds, 3) * 1000))
  return ((program.cpu() - used) / (performance.now() - began)) * 1000
}

async function measureReports(
  population: Population,
  isWatched: boolean,
  seconds: number,
  wrong: string[],
): Promise<Sample> {
  const { program, idle } = population
  const connection = await openConnection(program.port)
  const end = performance.now() + seconds * 1000
  const [began, used, client] = [performance.now(), program.cpu(), process.cpuUsage()]
  let reports = 0
  for (; performance.now() < end; reports += 1)
    await report(population, connection, (isWatched ? 0 : watched) + (reports % watched), isWatched, wrong)
  const elapsed = (performance.now() - began) / 1000
  const { user, system } = process.cpuUsage(client)
  connection.close()
  return {
    rate: reports / elapsed,
    serverCpu: ((program.cpu() - used - idle * elapsed) / reports) * 1e6,
    databaseCpu: null,
    clientCpu: (user + system) / 1e6 / elapsed,
  }
}
