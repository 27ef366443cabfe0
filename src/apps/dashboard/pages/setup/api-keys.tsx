/** API keys: who has which role, for which part of the fleet. A new key is shown once. */
import { useState } from 'preact/hooks'
import { ask, session } from '../../data/api.ts'
import { queryCommand } from '../../data/commands.ts'
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { clock, formatAge, formatFull, formatTime, now } from '../../data/time.ts'
import { useAnswer, useReload } from '../../data/use-query.ts'
import { ErrorMessage } from '../../widgets/error-message.tsx'
import { type Action, Confirmation } from '../../widgets/lists/selection.tsx'
import { Command, Watch } from '../../widgets/setup/command.tsx'
import { Check, Field, Form, Select, textOf } from '../../widgets/setup/form.tsx'

const keyFragment = graphql(`
  fragment ListedKey on ApiKey { id name roles scopes createdAt createdBy expiresAt revokedAt }
`)
const keysDocument = graphql(`query ApiKeys { apiKeys { ...ListedKey } }`, [keyFragment])
const createKeyDocument = graphql(`
  mutation CreateKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { ... on CreateApiKeySuccess { key apiKey { name } } ... on UserError { message } }
  }
`)
const revokeKeyDocument = graphql(`
  mutation RevokeKey($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { __typename ... on UserError { message } } }
`)

type ListedKey = FragmentOf<typeof keyFragment>
type Role = ListedKey['roles'][number]

const roleWords: Readonly<Record<Role, string>> = {
  VIEWER: 'Viewer: reads everything except documents',
  OPERATOR: 'Operator: also declares, removes, registers devices and sets up alerts',
  REPORTER: 'Reporter: an orchestrator that reports',
  ADMIN: 'Admin: also manages API keys and reads the audit log',
}

const day = 86_400_000
const lifetimes: Readonly<Record<string, string>> = {
  '30': '30 days',
  '90': '90 days',
  '365': 'One year',
  '': 'Never',
}

export function ApiKeys() {
  const [version, reload] = useReload()
  const [created, setCreated] = useState<{ readonly name: string; readonly key: string } | null>(null)
  const { data, error } = useAnswer(keysDocument, {}, { version })
  const isAccepted = session.value?.apiAuth.includes('key') ?? false
  const submit = async (values: FormData): Promise<string | null> => {
    const roles = values.getAll('roles') as Role[]
    if (roles.length === 0) return 'Choose at least one role.'
    const days = textOf(values, 'lifetime')
    const scopes = (textOf(values, 'scopes') ?? '').split(',').map((scope) => scope.trim())
    const { createApiKey: result } = await ask(createKeyDocument, {
      input: {
        ...{ name: textOf(values, 'name') ?? '', roles, scopes: scopes.filter((scope) => scope !== '') },
        expiresAt: days === null ? null : new Date(clock() + Number(days) * day).toISOString(),
      },
    })
    if ('message' in result) return result.message
    setCreated({ name: result.apiKey.name, key: result.key })
    reload()
    return null
  }
  return (
    <div class="columns">
      <section class="panel" aria-labelledby="keys">
        <h2 id="keys">API keys</h2>
        {error && <ErrorMessage error={error} />}
        {data?.apiKeys.length === 0 && <p class="empty">No API keys.</p>}
        <ul class="setup-list">
          {data?.apiKeys.map((key) => (
            <KeyLine key={key.id} of={key} changed={reload} />
          ))}
        </ul>
      </section>
      <div>
        {created && (
          <section class="panel" aria-labelledby="created">
            <h2 id="created">The key of {created.name}</h2>
            <Command label="It is not shown again">{created.key}</Command>
            <Command label="A query with it">{queryCommand(created.key)}</Command>
            <Watch apiKey={created.key} />
          </section>
        )}
        <section class="panel" aria-labelledby="new-key">
          <h2 id="new-key">New key</h2>
          {isAccepted ? (
            <Form label="New key" word="Create key" submit={submit}>
              <Field label="Owner" name="name" required maxLength={256} hint="The audit log shows this name." />
              <fieldset class="wide">
                <legend>Roles</legend>
                {Object.entries(roleWords).map(([role, word]) => (
                  <Check key={role} name="roles" value={role} defaultChecked={role === 'VIEWER'} label={word} />
                ))}
              </fieldset>
              <Field
                label="Scopes (optional)"
                name="scopes"
                placeholder="label:site=munich"
                hint="label:<key>=<value> or project:<name>. None: the whole fleet."
              />
              <Select label="Expires after" name="lifetime" options={lifetimes} value="90" />
            </Form>
          ) : (
            <p class="muted">
              This server accepts no API keys. To use them, start it with <code>API_AUTH=key</code> and an{' '}
              <code>API_ADMIN_KEY</code>.
            </p>
          )}
        </section>
      </div>
    </div>
  )
}

function KeyLine({ of: key, changed }: { readonly of: ListedKey; readonly changed: () => void }) {
  const [isAsked, setIsAsked] = useState(false)
  const { name, roles, scopes, createdAt, createdBy, expiresAt, revokedAt } = key
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= now.value
  const revoke: Action = {
    word: 'Revoke',
    effect: 'The key and the sessions that were signed in with it end at once. Open connections are closed.',
    reason: 'none',
    run: async () => {
      const { revokeApiKey: result } = await ask(revokeKeyDocument, { input: { id: key.id } })
      return 'message' in result ? result.message : null
    },
  }
  return (
    <li class={revokedAt !== null || isExpired ? 'over' : undefined}>
      <b>
        <bdi>{name}</bdi>
      </b>
      <span>{roles.map((role) => role.toLowerCase()).join(', ')}</span>
      <span class="acts">
        {revokedAt === null && !isExpired && (
          <button type="button" class="quiet" onClick={() => setIsAsked(true)}>
            Revoke…
          </button>
        )}
      </span>
      <small class="muted">
        {scopes.length > 0 ? `${scopes.join(', ')} · ` : 'whole fleet · '}
        <time title={formatFull(createdAt)}>created {formatAge(createdAt, now.value)}</time> by {createdBy}
        {revokedAt !== null
          ? ' · revoked'
          : isExpired
            ? ' · expired'
            : expiresAt && ` · until ${formatTime(expiresAt)}`}
      </small>
      {isAsked && (
        <Confirmation
          action={revoke}
          ids={[]}
          what={`the key of ${name}`}
          done={changed}
          close={() => setIsAsked(false)}
        />
      )}
    </li>
  )
}
