/** Registers a device, shows its token once, and waits for its first report. */
import { useState } from 'preact/hooks'
import { ask, session } from '../../data/api.ts'
import { keyCommand, reportCommand, signedReportCommand } from '../../data/commands.ts'
import { graphql } from '../../data/graphql.ts'
import { formatAge, now } from '../../data/time.ts'
import { useLiveAnswer } from '../../data/use-query.ts'
import { href } from '../../route.ts'
import { describeFailure } from '../../widgets/error-message.tsx'
import { Command } from '../../widgets/setup/command.tsx'
import { Field, Form, labelsOf, Select, TextArea, textOf } from '../../widgets/setup/form.tsx'
import { StateMark } from '../../widgets/states/state-mark.tsx'

const registerDocument = graphql(`
  mutation Register($input: RegisterDevicesInput!) {
    registerDevices(input: $input) {
      ... on RegisterDevicesSuccess { results { token device { lastHeardAt } } }
      ... on UserError { message }
    }
  }
`)
const rotateDocument = graphql(`
  mutation Rotate($input: RotateDeviceTokenInput!) {
    rotateDeviceToken(input: $input) { ... on RotateDeviceTokenSuccess { token } ... on UserError { message } }
  }
`)
const heardDocument = graphql(
  `query Heard($deviceId: String!) { revision device(deviceId: $deviceId) { lastHeardAt } }`,
)

const methods = {
  open: 'None needed',
  token: 'Token',
  signature: 'Public key, for signed requests',
  mtls: 'Client certificate',
} as const

type Method = keyof typeof methods

interface Registered {
  readonly deviceId: string
  readonly method: Method
  /** Null: the device was registered before. */
  readonly token: string | null
  /** The last contact before. The clock of the browser may differ from the server's, so it is not compared with that. */
  readonly heardBefore: string | null
}

export function RegisterDevice() {
  const accepted = (Object.keys(methods) as Method[]).filter((each) => session.value?.deviceAuth.includes(each))
  const [first = 'open'] = accepted
  const [method, setMethod] = useState<Method>(first)
  const [registered, setRegistered] = useState<Registered | null>(null)

  const submit = async (values: FormData): Promise<string | null> => {
    const deviceId = textOf(values, 'deviceId') ?? ''
    const labels = labelsOf(values, 'labels')
    const publicKey = textOf(values, 'publicKey')
    const spiffeId = textOf(values, 'spiffeId')
    const device = {
      ...{ deviceId, name: textOf(values, 'name'), parent: textOf(values, 'parent') },
      ...(labels.length > 0 && { labels }),
      ...(publicKey && { publicKeys: [publicKey] }),
      ...(spiffeId && { spiffeIds: [spiffeId] }),
    }
    const { registerDevices: result } = await ask(registerDocument, { input: { devices: [device] } })
    if ('message' in result) return result.message
    const [{ token, device: found } = { token: null, device: null }] = result.results
    setRegistered({ deviceId, method, token, heardBefore: found?.lastHeardAt ?? null })
    return null
  }

  return (
    <div class="columns">
      <section class="panel" aria-labelledby="register">
        <h2 id="register">New device</h2>
        <Form label="New device" word="Register device" submit={submit}>
          <Field
            label="Device ID"
            name="deviceId"
            required
            maxLength={256}
            autocomplete="off"
            hint="As in its addresses."
          />
          <Field label="Display name (optional)" name="name" maxLength={256} autocomplete="off" />
          <Field label="Labels (optional)" name="labels" placeholder="site=munich, line=3" autocomplete="off" />
          <Field label="Gateway (optional)" name="parent" hint="The device that it is behind." />
          <Select
            label="Credential"
            name="method"
            options={Object.fromEntries(accepted.map((each) => [each, methods[each]]))}
            value={method}
            chosen={(value) => setMethod(value as Method)}
          />
          {method === 'mtls' && (
            <Field
              label="SPIFFE ID of its certificate"
              name="spiffeId"
              required
              placeholder="spiffe://fleet.example/press-8"
            />
          )}
          {method === 'signature' && (
            <>
              <div class="wide">
                <Command label="Make a key on the device. The second command prints the public key">
                  {keyCommand}
                </Command>
              </div>
              <TextArea
                label="Public key"
                name="publicKey"
                required
                rows={4}
                placeholder="-----BEGIN PUBLIC KEY-----"
              />
            </>
          )}
        </Form>
      </section>
      {registered ? (
        <Result key={`${registered.deviceId} ${registered.token}`} of={registered} />
      ) : (
        <section class="panel" aria-labelledby="what">
          <h2 id="what">What registration does</h2>
          <ul class="plain">
            <li>The device gets its credential. A token is shown once, on this page.</li>
            <li>Labels group devices by site, line or customer, and limit what callers with a scope see.</li>
            <li>A device behind a gateway may report through it, with the gateway's credential.</li>
          </ul>
        </section>
      )}
    </div>
  )
}

function Result({ of: { deviceId, method, token: issued, heardBefore } }: { readonly of: Registered }) {
  const [rotated, setRotated] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const { data } = useLiveAnswer(heardDocument, { deviceId }, { deviceIds: [deviceId] }, { hasContacts: true })
  const heardAt = data?.device?.lastHeardAt ?? null
  const token = rotated ?? issued
  const rotate = async (): Promise<void> => {
    const result = await ask(rotateDocument, { input: { deviceId } }).then(
      ({ rotateDeviceToken }) => rotateDeviceToken,
      (error: unknown) => ({ message: describeFailure(error) }),
    )
    if ('message' in result) setProblem(result.message)
    else setRotated(result.token)
  }
  return (
    <section class="panel" aria-labelledby="registered">
      <h2 id="registered">
        <bdi>{deviceId}</bdi> is registered
      </h2>
      {method === 'token' && token !== null && <Command label="Its token. It is not shown again">{token}</Command>}
      {method === 'token' && token === null && (
        <p class="note">
          It was registered before, and keeps its token.{' '}
          <button type="button" class="quiet" onClick={() => void rotate()}>
            Issue a new token
          </button>{' '}
          The old one stays valid for an hour.
        </p>
      )}
      {problem !== null && (
        <p class="trouble-text" role="alert">
          {problem}
        </p>
      )}
      <Command label="Its first report">
        {method === 'signature' ? signedReportCommand(deviceId) : reportCommand(deviceId, credentialOf(method, token))}
      </Command>
      <p role="status" class="heard">
        {heardAt !== null && heardAt !== heardBefore ? (
          <>
            <StateMark of="ONLINE">{`Heard ${formatAge(heardAt, now.value)}.`}</StateMark>{' '}
            <a href={href(['device', deviceId])}>Open the device</a>
          </>
        ) : (
          <StateMark of="WAITING">Waiting for its first report</StateMark>
        )}
      </p>
    </section>
  )
}

function credentialOf(method: Method, token: string | null) {
  if (method === 'token') return { kind: 'token', token } as const
  return { kind: method === 'mtls' ? 'certificate' : 'none' } as const
}
