/** `rollcall maintenance`: lists maintenance windows, plans one, or ends one. */
import { parseArgs } from 'node:util'
import { exitCodes, parseDuration, UsageError, usageErrorOf } from '../../../server/process/arguments.ts'
import { createApi, forTerminal } from '../api.ts'
import { findServer } from '../download.ts'
import { type List, printList } from '../list.ts'
import { explainRefusal, labelOf, refusedFields, run } from '../retirement/changing.ts'
import { jsonLine, momentOf } from '../show.ts'
import { exitWithoutOutput, terminalOf } from '../terminal.ts'
import { maintenanceOptions, usage } from './options.ts'

interface ShownWindow {
  readonly maintenanceId: string
  readonly reason: string
  readonly next: { readonly from: string; readonly until: string } | null
  readonly repeat: string | null
  readonly timeZone: string
  readonly plannedBy: string
  readonly targets: number
  readonly filter: object | null
  readonly clusters: object | null
}

interface Changed {
  readonly window?: ShownWindow
  readonly message: string
}

const fields = 'maintenanceId reason next { from until } repeat timeZone plannedBy targets filter clusters'
const row = ({
  maintenanceId,
  reason,
  next,
  repeat,
  timeZone,
  plannedBy,
  targets,
  filter,
  clusters,
}: ShownWindow): string[] => [
  ...[maintenanceId, next ? momentOf(next.from) : 'over', next ? momentOf(next.until) : '-'],
  ...[repeat === null ? '-' : `${repeat} ${timeZone}`, String(targets)],
  ...[JSON.stringify({ ...filter, ...(clusters && { clusters }) }), plannedBy, reason],
]

await run(async () => {
  const { values, positionals } = parse()
  const [verb, id, ...rest] = positionals
  if (values.help) {
    console.log(usage)
    return exitCodes.reached
  }
  if (rest.length > 0 || (verb === 'plan' && id !== undefined)) throw new UsageError('unexpected argument')
  const { address, token } = await findServer(values)
  const output = { terminal: terminalOf(process.stdout), isJson: values.json === true }
  exitWithoutOutput(process.stdout)
  const api = output.isJson ? createApi(address, token) : forTerminal(createApi(address, token))
  if (verb === undefined) {
    const head = ['ID', 'FROM', 'UNTIL', 'REPEATED', 'INSIDE', 'FILTER', 'BY', 'REASON']
    const list: List<ShownWindow> = {
      of: 'maintenanceWindows',
      filter: null,
      arguments: `over: ${values.over === true},`,
      ...{ fields, head, row, empty: 'No maintenance windows.' },
    }
    await printList(api, output, list, Number.POSITIVE_INFINITY)
    return exitCodes.reached
  }
  if (verb !== 'plan' && verb !== 'end') throw new UsageError(`unknown: maintenance ${verb}. Use plan or end`)
  if (verb === 'end' && id === undefined) throw new UsageError('missing ID: use maintenance end <id>')
  const name = verb === 'plan' ? 'planMaintenance' : 'endMaintenance'
  const { result } = await api.ask<{ result: Changed }>(
    `mutation Change($input: ${verb === 'plan' ? 'Plan' : 'End'}MaintenanceInput!) { result: ${name}(input: $input) {
      ... on ${verb === 'plan' ? 'Plan' : 'End'}MaintenanceSuccess { window { ${fields} } }
      ${refusedFields} } }`,
    { input: verb === 'plan' ? inputOf(values) : { maintenanceId: id } },
  )
  if (!result.window) return explainRefusal(result)
  output.terminal.write(output.isJson ? jsonLine(result.window) : `${row(result.window).join('  ')}\n`)
  return exitCodes.reached
})

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), allowPositionals: true, options: maintenanceOptions })
  } catch (error) {
    throw usageErrorOf(error, maintenanceOptions)
  }
}

type Values = ReturnType<typeof parse>['values']

function inputOf(values: Values): object {
  const { from, to, reason, repeat, label = [], device = [], cluster = [], 'time-zone': timeZone } = values
  const filter = {
    ...(label.length > 0 && { labels: label.map(labelOf) }),
    ...(device.length > 0 && { deviceIds: device }),
  }
  const hasDevices = Object.keys(filter).length > 0
  if (!hasDevices && cluster.length === 0) throw new UsageError('missing devices: use --label, --device or --cluster')
  if (reason === undefined) throw new UsageError('missing reason: use --reason')
  const begins = from === undefined ? Date.now() : Date.parse(from)
  if (Number.isNaN(begins)) throw new UsageError(`--from must be a time such as 2026-12-05T18:00:00Z, but is "${from}"`)
  if ((to === undefined) === (values.for === undefined)) throw new UsageError('say when it ends: use --to or --for')
  const ends = values.for === undefined ? to : new Date(begins + parseDuration('--for', values.for)).toISOString()
  const selected = { ...(hasDevices && { filter }), ...(cluster.length > 0 && { clusters: { names: cluster } }) }
  return { ...selected, from, to: ends, reason, repeat, ...(timeZone !== undefined && { timeZone }) }
}
