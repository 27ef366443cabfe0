/** `rollcall watch`: a live table in a terminal; otherwise one line per change, without gaps. */
import type { Api } from './api.ts'
import type { Output } from './get.ts'
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

interface FeedData<Change> {
  readonly changes: {
    readonly cursor: string
    readonly reset: { readonly reason: string } | null
    readonly change: Change | null
  }
}

const document = (deployment: string): string => `subscription Watch($filter: ChangeFilter, $after: Revision) {
  changes(filter: $filter, after: $after) { cursor reset { reason } change { ${changeFields(deployment)} } }
}`

const resume = (latest: FeedData<unknown>): { after: string } => ({ after: latest.changes.cursor })

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
  await api.follow<FeedData<ShownChange>>(
    {
      query: document('deploymentId target { name }'),
      variables,
      resume,
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

interface ChangedData {
  readonly deployment?: ShownDeployment & { readonly forgottenAt: string | null }
}

/** One page. No screen shows more rows. */
const mostRows = 100
/** Milliseconds. */
const redrawInterval = 100

export async function watchTable(
  api: Api,
  { terminal }: Output,
  { selection, after }: { selection: Selection; after: string | null },
  signal: AbortSignal,
): Promise<void> {
  const screen = createScreen(terminal)
  const [changesOf, deploymentsOf] = [await changeFilter(api, selection), await deploymentFilter(api, selection)]
  let rows = new Map<string, ShownDeployment>()
  let counts: Counts | null = null
  let interruption: string | null = null
  let isDirty = true

  async function load(): Promise<string> {
    const { deployments, revision } = await api.ask<{ deployments: { nodes: ShownDeployment[] }; revision: string }>(
      `query Begin($filter: DeploymentFilter) {
        deployments(filter: $filter, first: ${mostRows}) { nodes { ${deploymentFields} } }
        revision
      }`,
      { filter: deploymentsOf },
    )
    rows = new Map(deployments.nodes.map((node) => [node.id, node]))
    isDirty = true
    return revision
  }

  function show({ changes: { change, reset } }: FeedData<ChangedData>): void {
    const { deployment } = change ?? {}
    // It leaves lists and counts.
    if (deployment?.forgottenAt) rows.delete(deployment.id)
    else if (deployment) rows.set(deployment.id, deployment)
    if (rows.size > 2 * mostRows) rows = new Map(newestFirst().map((row) => [row.id, row]))
    if (reset) void load().catch(() => undefined)
    isDirty = true
  }

  const newestFirst = (): ShownDeployment[] =>
    [...rows.values()].toSorted((a, b) => Number(b.revision) - Number(a.revision)).slice(0, mostRows)

  function draw(): void {
    if (!isDirty) return
    isDirty = false
    screen.draw([
      interruption === null
        ? ''
        : paint(terminal, 'yellow', `disconnected, retrying; the table may be outdated: ${interruption}`),
      counts ? describeCounts(terminal, counts) : '',
      '',
      ...table([[...deploymentHead], ...newestFirst().map((row) => deploymentRow(terminal, row))]),
    ])
  }

  const interrupted = (reason: string | null): void => {
    interruption = reason
    isDirty = true
  }
  const revision = await load()
  const timer = setInterval(draw, redrawInterval)
  try {
    await Promise.all([
      api.follow<FeedData<ChangedData>>(
        {
          query: document(`${deploymentFields} forgottenAt`),
          variables: { filter: changesOf, after: after ?? revision },
          resume,
          next: show,
          interrupted,
        },
        signal,
      ),
      api.follow<{ deploymentCounts: { counts: CountData } }>(
        {
          query: `subscription Counts($filter: DeploymentFilter) {
            deploymentCounts(filter: $filter) { counts { ${countFields} } }
          }`,
          variables: { filter: deploymentsOf },
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
