/** Planned downtime: the windows, and a form for another one. */
import { useState } from 'preact/hooks'
import { ask } from '../../data/api.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { formatNumber } from '../../data/labels.ts'
import { clock, formatFull, formatTime, now, zoneName } from '../../data/time.ts'
import { useAnswer, useReload } from '../../data/use-query.ts'
import { href } from '../../route.ts'
import { ErrorMessage } from '../../widgets/error-message.tsx'
import { type Action, Confirmation } from '../../widgets/lists/selection.tsx'
import { Field, Form, labelsOf, Select, textOf } from '../../widgets/setup/form.tsx'

const windowFragment = graphql(`
  fragment ListedWindow on MaintenanceWindow { maintenanceId reason next { from until } repeat timeZone plannedBy targets filter clusters }
`)
const windowsDocument = graphql(
  `query Maintenance { maintenanceWindows(first: 100) { totalCount nodes { ...ListedWindow } } }`,
  [windowFragment],
)
const planDocument = graphql(`
  mutation PlanMaintenance($input: PlanMaintenanceInput!) {
    planMaintenance(input: $input) {
      __typename ... on InvalidInput { problems { path message } } ... on UserError { message }
    }
  }
`)
const endDocument = graphql(`
  mutation EndMaintenance($input: EndMaintenanceInput!) { endMaintenance(input: $input) { __typename ... on UserError { message } } }
`)

type ListedWindow = FragmentOf<typeof windowFragment>

/** Milliseconds between two looks: devices enter and leave by themselves. */
const refreshInterval = 5_000

const repeats: Readonly<Record<string, string>> = {
  '': 'Never',
  'FREQ=DAILY': 'Every day',
  'FREQ=WEEKLY': 'Every week',
  'FREQ=WEEKLY;INTERVAL=2': 'Every two weeks',
}

export function MaintenanceWindows() {
  const [version, reload] = useReload()
  const { data, error } = useAnswer(
    windowsDocument,
    {},
    { version: `${version} ${Math.floor(now.value / refreshInterval)}`, about: 'windows' },
  )
  const windows = data?.maintenanceWindows.nodes
  return (
    <div class="columns">
      <section class="panel" aria-labelledby="windows">
        <h2 id="windows">Maintenance windows</h2>
        {error && <ErrorMessage error={error} />}
        {windows?.length === 0 && <p class="empty">No maintenance windows.</p>}
        <ul class="setup-list">
          {windows?.map((window) => (
            <WindowLine key={window.maintenanceId} of={window} changed={reload} />
          ))}
        </ul>
      </section>
      <section class="panel" aria-labelledby="new-window">
        <h2 id="new-window">New window</h2>
        <p class="muted">
          While a device or a cluster is in it, it is not offline, its deployments do not stall, and alert rules that
          say so wait for its end.
        </p>
        <Form label="New window" word="Plan maintenance" submit={(values) => plan(values, reload)}>
          <Field
            label="Devices with a label"
            name="labels"
            placeholder="site=munich"
            hint="Any of several, separated by commas."
          />
          <Field label="Or device IDs" name="devices" placeholder="press-7, press-8" hint="Separated by commas." />
          <Field
            label="Or clusters"
            name="clusters"
            placeholder="munich-a, munich-b"
            hint="Names, separated by commas."
          />
          <Field label="From (optional)" name="from" type="datetime-local" hint={`${zoneName}. Empty: now.`} />
          <Field label="Until" name="to" type="datetime-local" required hint={zoneName} />
          <Select label="Repeated" name="repeat" options={repeats} value="" />
          <Field label="Reason" name="reason" required maxLength={256} hint="It is shown with the devices." />
        </Form>
      </section>
    </div>
  )
}

const timeOf = (values: FormData, name: string): string | null => {
  const text = textOf(values, name)
  return text === null ? null : new Date(text).toISOString()
}

const listOf = (values: FormData, name: string): string[] =>
  (textOf(values, name) ?? '').split(',').flatMap((one) => one.trim() || [])

async function plan(values: FormData, reload: () => void): Promise<string | null> {
  const labels = labelsOf(values, 'labels')
  const [deviceIds, names] = [listOf(values, 'devices'), listOf(values, 'clusters')]
  if (labels.length + deviceIds.length + names.length === 0)
    return 'Say which devices, by a label or by their IDs, or which clusters.'
  if (labels.length > 0 && deviceIds.length > 0) return 'Give either labels or device IDs.'
  const filter = { ...(labels.length > 0 && { labels }), ...(deviceIds.length > 0 && { deviceIds }) }
  const { planMaintenance: result } = await ask(planDocument, {
    input: {
      ...(Object.keys(filter).length > 0 && { filter }),
      ...(names.length > 0 && { clusters: { names } }),
      ...{ from: timeOf(values, 'from') ?? new Date(clock()).toISOString(), to: timeOf(values, 'to') ?? '' },
      ...{ reason: textOf(values, 'reason') ?? '', repeat: textOf(values, 'repeat') },
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
  })
  if ('problems' in result) return result.problems.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')
  if ('message' in result) return result.message
  reload()
  return null
}

function WindowLine({ of: window, changed }: { readonly of: ListedWindow; readonly changed: () => void }) {
  const [isAsked, setIsAsked] = useState(false)
  const { maintenanceId, reason, next, repeat, timeZone, plannedBy, targets, filter, clusters } = window
  const lasts = next !== null && Date.parse(next.from) <= now.value
  const end: Action = {
    word: 'End',
    effect: 'Its devices leave it within seconds, and it does not occur again.',
    reason: 'none',
    run: async () => {
      const { endMaintenance: result } = await ask(endDocument, { input: { maintenanceId } })
      return 'message' in result ? result.message : null
    },
  }
  return (
    <li>
      <b>
        <bdi>{reason}</bdi>
      </b>
      <span>
        {next && (
          <>
            <time title={formatFull(next.from)}>{formatTime(next.from)}</time> to{' '}
            <time title={formatFull(next.until)}>{formatTime(next.until)}</time>
          </>
        )}
        {lasts && (
          <>
            {', '}
            <a href={href(['devices'], { maintenance: 'true' })}>{formatNumber(targets)} in it</a>
          </>
        )}
      </span>
      <span class="acts">
        <button type="button" class="quiet" onClick={() => setIsAsked(true)}>
          End…
        </button>
      </span>
      <small class="muted">
        <code>{JSON.stringify({ ...(filter as object | null), ...(clusters === null ? {} : { clusters }) })}</code>
        {repeat !== null && ` · ${repeats[repeat] ?? repeat}, ${timeZone}`} · by {plannedBy}
      </small>
      {isAsked && <Confirmation action={end} ids={[]} what={reason} done={changed} close={() => setIsAsked(false)} />}
    </li>
  )
}
