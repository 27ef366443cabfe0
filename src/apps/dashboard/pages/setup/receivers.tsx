/** Who is notified: webhooks and Alertmanagers with a test, and the sinks that other systems have created. */
import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../data/api.ts'
import { graphql, type VariablesOf } from '../../data/graphql.ts'
import { useAnswer, useReload } from '../../data/use-query.ts'
import { ErrorMessage } from '../../widgets/error-message.tsx'
import { Command } from '../../widgets/setup/command.tsx'
import { Field, Form, Select, textOf } from '../../widgets/setup/form.tsx'
import { SinkLine, sinkFragment } from '../../widgets/setup/sink-line.tsx'

const sinksDocument = graphql(`query Sinks { sinks { ...ListedSink } }`, [sinkFragment])
const createWebhookDocument = graphql(`
  mutation AddWebhook($input: CreateWebhookInput!) {
    createWebhook(input: $input) { ... on CreateWebhookSuccess { secret sink { name } } ... on UserError { message } }
  }
`)
const createAlertmanagerDocument = graphql(`
  mutation AddAlertmanager($input: CreateAlertmanagerInput!) {
    createAlertmanager(input: $input) { __typename ... on UserError { message } }
  }
`)

type Filter = VariablesOf<typeof createWebhookDocument>['input']['filter']

/** What a webhook receives. Finer filters are set by the API. */
const subjects: Readonly<Record<string, readonly [string, Filter]>> = {
  failures: ['Deployments that fail', { kinds: ['DEPLOYMENT_STATE_CHANGED'], to: ['FAILED'] }],
  alerts: ['Alerts', { kinds: ['ALERT_RAISED', 'ALERT_RESOLVED', 'ALERT_ACKNOWLEDGED'] }],
  states: ['States of deployments', { kinds: ['DEPLOYMENT_STATE_CHANGED'] }],
  connectivity: ['Connectivity of devices', { kinds: ['CONNECTIVITY_CHANGED'] }],
  all: ['All changes', null],
}

const kinds = { WEBHOOK: 'Webhook', ALERTMANAGER: 'Alertmanager' }

/** Milliseconds. Attempts of sinks are no changes of the log. */
const refreshEvery = 5_000

export function Receivers() {
  const [version, reload] = useReload()
  const [kind, setKind] = useState<keyof typeof kinds>('WEBHOOK')
  const [created, setCreated] = useState<{ readonly name: string; readonly secret: string } | null>(null)
  const { data, error } = useAnswer(sinksDocument, {}, { version })
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), refreshEvery)
    return () => clearInterval(timer)
  }, [])

  const submit = async (values: FormData): Promise<string | null> => {
    const target = { name: textOf(values, 'name') ?? '', url: textOf(values, 'url') ?? '' }
    if (kind === 'ALERTMANAGER') {
      const input = { ...target, authorization: textOf(values, 'authorization') }
      const { createAlertmanager: result } = await ask(createAlertmanagerDocument, { input })
      if ('message' in result) return result.message
      setCreated(null)
    } else {
      const [, filter = null] = subjects[textOf(values, 'subject') ?? ''] ?? []
      const { createWebhook: result } = await ask(createWebhookDocument, { input: { ...target, filter } })
      if ('message' in result) return result.message
      setCreated({ name: result.sink.name, secret: result.secret })
    }
    reload()
    return null
  }

  return (
    <div class="columns">
      <section class="panel" aria-labelledby="receivers">
        <h2 id="receivers">Receivers</h2>
        {error && <ErrorMessage error={error} />}
        {data?.sinks.length === 0 && <p class="empty">No receivers. Add a webhook or an Alertmanager.</p>}
        <ul class="setup-list">
          {data?.sinks.map((sink) => (
            <SinkLine key={sink.id} of={sink} version={version} changed={reload} />
          ))}
        </ul>
      </section>
      <div>
        {created && (
          <section class="panel" aria-labelledby="secret">
            <h2 id="secret">The secret of {created.name}</h2>
            <Command label="It signs the events. It is not shown again">{created.secret}</Command>
            <p class="note">
              The receiver checks <code>webhook-signature</code> with it, as Standard Webhooks describes.
            </p>
          </section>
        )}
        <section class="panel" aria-labelledby="new-receiver">
          <h2 id="new-receiver">New receiver</h2>
          <Form label="New receiver" word={`Add ${kinds[kind]}`} submit={submit}>
            <Select
              label="Kind"
              name="kind"
              options={kinds}
              value={kind}
              chosen={(value) => setKind(value as typeof kind)}
            />
            <Field label="Name" name="name" required maxLength={256} />
            <Field
              label="Address"
              name="url"
              type="url"
              required
              placeholder={kind === 'WEBHOOK' ? 'https://hooks.example/rollcall' : 'https://alertmanager.example'}
              hint="Private addresses must be in SINK_ALLOW."
            />
            {kind === 'WEBHOOK' ? (
              <Select
                label="Receives"
                name="subject"
                options={Object.fromEntries(Object.entries(subjects).map(([key, [word]]) => [key, word]))}
                value="failures"
              />
            ) : (
              <Field
                label="Authorization (optional)"
                name="authorization"
                type="password"
                autocomplete="off"
                hint="The value of the header, such as Bearer …"
              />
            )}
          </Form>
        </section>
      </div>
    </div>
  )
}
