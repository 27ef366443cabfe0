/** Commands for a terminal that work here: with the address of this server and the credentials that it requires. */
import { root } from '../route.ts'
import { session } from './api.ts'

/** The address of this server. */
const server = root.href.replace(/\/$/, '')

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Quotation marks are allowed in addresses, but would end a text of the shell. */
const part = (text: string): string => encodeURIComponent(text).replaceAll("'", '%27')

/** Devices report without a credential. */
export const isOpenToDevices = (): boolean => session.value?.deviceAuth.includes('open') ?? true

/** Callers of the API need no credential. */
const isOpenToCallers = (): boolean => session.value?.apiAuth.includes('open') ?? true

/** What a device presents with its report. */
type DeviceCredential =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string | null }
  | { readonly kind: 'certificate' }

/** The deployment of the reports. */
const deploymentId = 'hello'

const body = JSON.stringify({
  deploymentId,
  status: { state: 'installing' },
  components: [{ name: 'web', state: 'installing' }],
})

const reportAddress = (deviceId: string): string =>
  `${server}/device/${part(deviceId)}/deployment/${deploymentId}/status`

export function reportCommand(deviceId: string, credential: DeviceCredential): string {
  const proof = {
    none: '',
    token: ` \\\n  -H "Authorization: Bearer ${(credential.kind === 'token' && credential.token) || '$DEVICE_TOKEN'}"`,
    certificate: ' \\\n  --cert device.pem --key device.key',
  }[credential.kind]
  return `curl -X POST ${quote(reportAddress(deviceId))}${proof} \\
  -H 'Content-Type: application/json' \\
  -d ${quote(body)}`
}

export const keyCommand = `openssl genpkey -algorithm ed25519 -out device.key
openssl pkey -in device.key -pubout`

/** A report that is signed by OpenSSL with the key of `keyCommand`. */
export const signedReportCommand = (deviceId: string): string => `body=${quote(body)}
url=${quote(reportAddress(deviceId))}
digest="sha-256=:$(printf %s "$body" | openssl dgst -sha256 -binary | openssl base64 -A):"
keyid=$(openssl pkey -in device.key -pubout -outform DER | openssl dgst -sha256 -hex | sed 's/.* //')
params="(\\"@method\\" \\"@target-uri\\" \\"content-digest\\");created=$(date +%s);keyid=\\"$keyid\\""
printf '"@method": POST\\n"@target-uri": %s\\n"content-digest": %s\\n"@signature-params": %s' "$url" "$digest" "$params" > base.txt
signature=$(openssl pkeyutl -sign -rawin -inkey device.key -in base.txt | openssl base64 -A)
curl -X POST "$url" -H 'Content-Type: application/json' -H "Content-Digest: $digest" \\
  -H "Signature-Input: sig1=$params" -H "Signature: sig1=:$signature:" -d "$body"`

/** The header of an API call. `key` null: it is in the environment. */
const callerHeader = (key: string | null): string =>
  isOpenToCallers() && key === null ? '' : ` \\\n  -H "Authorization: Bearer ${key ?? '$ROLLCALL_TOKEN'}"`

export const queryCommand = (key: string | null = null): string =>
  `curl -G ${quote(`${server}/graphql`)}${callerHeader(key)} \\
  --data-urlencode 'query={ deploymentCounts { total installed failed } }'`

export const watchCommand = (key: string | null): string =>
  `${session.value?.commands.rollcall ?? 'rollcall'} watch --url ${quote(server)}${isOpenToCallers() && key === null ? '' : ` --token ${key ?? '"$ROLLCALL_TOKEN"'}`}`

/** Declares one deployment, which makes a rollout. */
export const declareCommand = (): string =>
  `curl ${quote(`${server}/graphql`)}${callerHeader(null)} \\
  -H 'Content-Type: application/graphql' -d ${quote(`mutation { declareDeployments(input: {
    rollout: { name: "hello" }
    deployments: [{ deviceId: "edge-1", deploymentId: "hello", application: "web", applicationVersion: "1.0" }]
  }) { __typename ... on UserError { message } } }`)}`

/** An instance of a resource bundle with one object, and the state of this object. */
export const instanceCommand = (): string => {
  const deployment = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
  const put = (path: string, body: object): string =>
    `curl -X PUT ${quote(`${server}/v1/instance/hello${path}`)}${callerHeader(null)} \\
  -H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))}`
  const instance = put('', {
    request: { 'rb-name': 'hello', 'rb-version': 'v1', 'profile-name': 'default', 'cloud-region': 'east' },
    resources: [{ GVK: deployment, Name: 'web' }],
  })
  const status = { replicas: 1, updatedReplicas: 1, readyReplicas: 0, availableReplicas: 0 }
  return `${instance}\n${put('/status', { resourcesStatus: [{ name: 'web', GVK: deployment, status }] })}`
}

export const simulateCommand = (): string =>
  `${session.value?.commands.simulate ?? 'rollcall simulate'} --url ${quote(server)}`

/** Npm finds its scripts only there. */
export const whereToRun = (command: string): string => (command.startsWith('npm ') ? ', in a checkout of Rollcall' : '')
