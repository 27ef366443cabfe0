/** `rollcall watch`: a live table in a terminal; otherwise one line per change, without gaps. */
import { applyUpdate } from '../client/live.ts'
import type { Api } from './api.ts'
import type { Output } from './list.ts'
import { changeFilter, deploymentFilter, type Selection } from './selection.ts'
import {
  type CountData,
  type Counts,
  changeFields,
  countFields,
  deploymentFields,
  deploymentHead,
  deploymentRow,
  describeChange,
  describeCounts,
  jsonLine,
  readCounts,
  type ShownChange,
  type ShownDeployment,
} from './show.ts'
import { createScreen, paint, table } from './terminal.ts'

interface FeedData {
  readonly changes: {
    readonly cursor: string
    readonly reset: { readonly reason: string } | null
    readonly change: ShownChange | null
  }
}

const changesDocument = `subscription Watch($filter: ChangeFilter, $after: Revision) {
  changes(filter: $filter, after: $after) {
    cursor reset { reason } change { ${changeFields} }
  }
}`

/** Runs until the signal is aborted. */
export async function watchLines(
  api: Api,
  { terminal, isJson }: Output,
  { selection, after }: { selection: Selection; after: string | null },
  warn: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const variables = { filter: await changeFilter(api, selection), after: after ?? (await newestRevision(api)) }
  // Whether changes were missed, the next event says.
  let isRestored = false
  await api.follow<FeedData>(
    {
      query: changesDocument,
      variables,
      next({ changes }) {
        const { cursor, reset, change } = changes
        if (isRestored) warn(reset ? 'reconnected' : 'reconnected, no changes missed')
        isRestored = false
        if (isJson && (change || reset)) terminal.write(jsonLine(changes))
        if (isJson) return
        if (reset)
          warn(`changes before ${cursor} are no longer available (${reset.reason}): query the present state again`)
        if (change) terminal.write(`${describeChange(terminal, change)}\n`)
      },
      interrupted(reason) {
        isRestored = reason === null
        if (reason !== null) warn(`disconnected: ${reason}; retrying`)
      },
    },
    signal,
  )
}

interface ListData {
  readonly deployments: {
    readonly cursor: string
    readonly isSnapshot: boolean
    readonly removed: readonly string[]
    readonly rows: readonly { readonly position: number; readonly deployment: ShownDeployment }[]
  }
}

/** One page. No screen shows more rows. */
const mostRows = 100
/** Milliseconds. */
const redrawInterval = 100

const listDocument = `subscription WatchList($filter: DeploymentFilter, $after: Revision) {
  deployments(filter: $filter, first: ${mostRows}, after: $after) {
    cursor isSnapshot removed rows { position deployment { ${deploymentFields} } }
  }
}`
const countsDocument = `subscription Counts($filter: DeploymentFilter) {
  deploymentCounts(filter: $filter) { counts { ${countFields} } }
}`

/** The selected deployments that changed last, and the counts of all that are selected. */
export async function watchTable(
  api: Api,
  { terminal }: Output,
  { selection }: { selection: Selection },
  signal: AbortSignal,
): Promise<void> {
  const screen = createScreen(terminal)
  const filter = await deploymentFilter(api, selection)
  let list: readonly ShownDeployment[] = []
  let counts: Counts | null = null
  let interruption: string | null = null
  let isDirty = true

  function draw(): void {
    if (!isDirty) return
    isDirty = false
    screen.draw([
      interruption === null
        ? ''
        : paint(terminal, 'yellow', `disconnected, retrying; the table may be outdated: ${interruption}`),
      counts ? describeCounts(terminal, counts) : '',
      '',
      ...table([[...deploymentHead], ...list.map((row) => deploymentRow(terminal, row))]),
    ])
  }

  const timer = setInterval(draw, redrawInterval)
  try {
    await Promise.all([
      api.follow<ListData>(
        {
          query: listDocument,
          variables: { filter },
          next({ deployments }) {
            list = applyUpdate(list, deployments)
            isDirty = true
          },
          interrupted(reason) {
            interruption = reason
            isDirty = true
          },
        },
        signal,
      ),
      api.follow<{ deploymentCounts: { counts: CountData } }>(
        {
          query: countsDocument,
          variables: { filter },
          next({ deploymentCounts }) {
            counts = readCounts(deploymentCounts.counts)
            isDirty = true
          },
        },
        signal,
      ),
    ])
  } finally {
    clearInterval(timer)
    draw()
    screen.end()
  }
}

async function newestRevision(api: Api): Promise<string> {
  return (await api.ask<{ revision: string }>('{ revision }')).revision
}
