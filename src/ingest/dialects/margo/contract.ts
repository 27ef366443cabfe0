/** What the OpenAPI document says of Margo's routes, and the JSON Schemas of its bodies (docs/wire.md §1). */
import { mostComponents } from '../../../domain/report.ts'
import { failureStages } from '../../../domain/values.ts'
import {
  type Contract,
  fieldProblems,
  id,
  list,
  object,
  ref,
  revision,
  type Schema,
  string,
  text,
  time,
  word,
} from '../contract.ts'
import { mostItems } from './backlog.ts'
import { capabilities, deviceId, kind, sendCapabilities } from './capabilities-contract.ts'
import { longestCode, longestMessage } from './error.ts'
import { bundleMediaType, manifestMediaType } from './manifest.ts'

const state = word(
  ['pending', 'installing', 'installed', 'failed', 'removing', 'removed'],
  'The state that the device reports.',
)
const digest = text(256, { description: 'sha256: and its digits.' })
const u64 = (minimum: number, description: string): Schema => ({
  anyOf: [
    { type: 'integer', minimum, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'string', pattern: minimum === 0 ? '^[0-9]{1,19}$' : '^[1-9][0-9]{0,18}$' },
  ],
  description,
})

const status = { state, 'error?': ref('margo-error') }
const components = list(ref('margo-component'), {
  maxItems: mostComponents,
  description: 'All of them. It may be empty.',
})
const marks = { 'rollcall?': ref('margo-rollcall'), 'apiVersion?': string }
const since2024 = {
  deploymentId: id('As in the path.'),
  status: object(status),
  components,
  ...marks,
  'deviceId?': deviceId,
}
const version = { 'adoptedManifestVersion?': u64(1, 'The version of the desired state that the device runs.') }

/** A generation each. */
const reports = {
  'margo-status-2024-05': object(
    {
      'kind?': kind('Margo Deployment Status'),
      metadata: object({ uniqueId: id('The deployment, as in the path.'), 'name?': string }),
      deploymentInformation: object({ status: state }),
      ...marks,
    },
    'The first proposal: one word of status, and no components.',
  ),
  'margo-status-2024-06': object(
    {
      'kind?': kind('DeploymentStatus'),
      metadata: object({ deploymentId: id('As in the path.'), 'timeStamp?': time('The clock of the device.') }),
      status: object({ ...status, components }),
      ...marks,
    },
    'The second proposal: the deployment in the metadata, the components inside the status.',
  ),
  'margo-status-2024-09': object({ kind: kind('DeploymentStatus'), ...since2024 }, 'The specification of 2024.'),
  'margo-status-2025-10': object(
    { kind: kind('DeploymentStatusManifest'), ...since2024, ...version },
    'The specification of 2025: a gateway names the device behind it in deviceId.',
  ),
  'margo-status-1.0': object(
    { ...since2024, ...version },
    'Since 1.0.0-rc.3: no kind. The route without a client in its path requires adoptedManifestVersion.',
  ),
}
const reportForms = Object.keys(reports)

const installed = { status: { state: 'installed' }, components: [{ name: 'web', state: 'installed' }] }
const reportExamples = {
  'margo-status-1.0': { deploymentId: 'pump', adoptedManifestVersion: 7, ...installed },
  'margo-status-2025-10': {
    ...{ kind: 'DeploymentStatusManifest', deploymentId: 'pump', deviceId: 'edge-1' },
    status: { state: 'failed', error: { code: '507', message: 'disk full' } },
    components: [{ name: 'web', state: 'failed', error: { code: '507', message: 'disk full' } }],
  },
  'margo-status-2024-09': { kind: 'DeploymentStatus', deploymentId: 'pump', ...installed },
  'margo-status-2024-06': {
    metadata: { deploymentId: 'pump', timeStamp: '2024-06-01T12:00:00Z' },
    status: { state: 'installed', components: installed.components },
  },
  'margo-status-2024-05': {
    kind: 'Margo Deployment Status',
    metadata: { name: 'pump', uniqueId: 'pump' },
    deploymentInformation: { status: 'installed' },
  },
}
const acknowledged = {
  description: 'The report is committed.',
  schema: ref('margo-acknowledgement'),
  example: { acknowledgement: 'received', verdict: 'APPLIED', revision: '1764376000000001' },
}
const artifact = { digest, 'sizeBytes?': { type: 'integer', minimum: 0 }, url: string }
const unchanged = { description: 'The client has it: its If-None-Match names it.' }
const binary: Schema = { type: 'string', description: 'Bytes.' }

export const margoContract: Contract = {
  tag: 'Devices',
  description:
    'What devices of the Margo specification report, describe and fetch. A body may be compressed with gzip or zstd.',
  operations: {
    reportStatus: {
      summary: 'Report the state of a deployment',
      description: 'Every route takes the body of any generation. A 2xx means that the report is committed.',
      body: reportExamples,
      answers: { 200: acknowledged, 201: acknowledged },
    },
    reportBacklog: {
      summary: 'Send collected reports, oldest first',
      description: `At most ${mostItems} reports, as an object, as a list, or one in a line (application/x-ndjson). Each has its own verdict.`,
      body: { 'margo-backlog': { reports: [{ deviceId: 'edge-1', ...reportExamples['margo-status-1.0'] }] } },
      answers: {
        200: {
          description: 'A result for each report, in order.',
          schema: object({ revision, results: list(ref('margo-result')) }),
          example: { revision: '1764376000000001', results: [{ verdict: 'APPLIED', revision: '1764376000000001' }] },
        },
      },
    },
    fetchManifest: {
      summary: 'Fetch the manifest: all that the caller should run',
      answers: {
        200: { description: 'Documents by digest.', media: [manifestMediaType], schema: ref('margo-manifest') },
        304: unchanged,
      },
      problems: ['NOT_FOUND', 'NOT_ACCEPTABLE'],
    },
    fetchDocument: {
      summary: 'Fetch one document of the manifest',
      answers: {
        200: { description: 'The ApplicationDeployment.', media: ['application/yaml'], schema: string },
        304: unchanged,
      },
      problems: ['NOT_FOUND'],
    },
    fetchBundle: {
      summary: 'Fetch all documents of the manifest',
      answers: { 200: { description: 'A tar.gz.', media: [bundleMediaType], schema: binary }, 304: unchanged },
      problems: ['NOT_FOUND'],
    },
    onboard: {
      summary: 'Onboard a client',
      body: { 'margo-onboarding': { certificate: 'MIIB…' } },
      answers: {
        201: {
          description: 'The client, and its Git repository where Git is on.',
          schema: object({ clientId: string, 'repository?': object({ url: string, 'token?': string }) }),
          example: { clientId: 'edge-1' },
        },
      },
    },
    offboard: { summary: 'End all credentials of the caller', answers: { 204: { description: 'They are revoked.' } } },
    showAuthority: {
      summary: "Fetch the authority of this server's certificate",
      answers: { 200: { description: 'X.509 in base64.', schema: object({ certificate: string }) } },
      problems: ['NOT_FOUND'],
    },
    sendCapabilities,
    sendOwnCapabilities: { ...sendCapabilities, summary: 'Send what the caller can run' },
    withdrawCapabilities: {
      summary: 'Withdraw what a device can run',
      answers: { 204: { description: 'They are forgotten.' } },
      problems: ['NOT_FOUND'],
    },
  },
  schemas: {
    ...reports,
    'margo-backlog': {
      anyOf: [
        object({ reports: list(ref('margo-backlog-report'), { maxItems: mostItems }) }),
        list(ref('margo-backlog-report'), { maxItems: mostItems }),
      ],
    },
    'margo-backlog-report': {
      allOf: [
        object(
          { 'reporter?': deviceId, 'clientId?': deviceId },
          'One of reporter, clientId and deviceId names the reporter, where no credential does.',
        ),
        { anyOf: reportForms.map(ref) },
      ],
    },
    'margo-component': object({ name: id('Its name.'), state, 'error?': ref('margo-error') }),
    'margo-error': object({
      'code?': text(longestCode, { description: 'Both empty: there is no error.' }),
      'message?': text(longestMessage),
      'source?': text(longestCode, { description: 'The part that failed, behind a gateway.' }),
    }),
    'margo-rollcall': object(
      {
        'seq?': u64(0, 'Counts the reports of a boot.'),
        'boot?': text(256, { description: 'Names the run of the device.' }),
        'observedAt?': time('The clock of the device.'),
        'failureStage?': word(failureStages, 'The stage in which it failed.'),
      },
      'What orders reports (docs/reporting.md).',
    ),
    ...capabilities,
    'margo-onboarding': object({
      'kind?': kind('OnboardingRequest'),
      'certificate?': { ...string, description: 'X.509 in base64. A client without a credential needs one.' },
    }),
    'margo-received': object({ acknowledgement: kind('received') }),
    'margo-acknowledgement': object({
      acknowledgement: kind('received'),
      verdict: word(['APPLIED', 'UNCHANGED', 'STALE'], 'What became of it.'),
      revision,
      'staleBy?': { ...string, description: 'The order key by which it is older.' },
      'warnings?': fieldProblems,
    }),
    'margo-result': object({
      verdict: word(['APPLIED', 'UNCHANGED', 'STALE', 'REFUSED'], 'What became of it.'),
      'revision?': revision,
      'staleBy?': string,
      'warnings?': fieldProblems,
      'status?': { type: 'integer', description: 'Of a refusal, as of a whole answer.' },
      'code?': string,
      'retryable?': { type: 'boolean' },
      'errors?': fieldProblems,
    }),
    'margo-manifest': object({
      manifestVersion: { type: 'integer', minimum: 0 },
      bundle: { anyOf: [{ type: 'null' }, object({ mediaType: string, ...artifact })] },
      deployments: list(object({ deploymentId: string, ...artifact })),
    }),
  },
  parameters: {
    deviceId: { description: 'The device.', example: 'edge-1' },
    rest: { description: 'The device, as gateway/child. Its slashes may be percent-encoded.', example: 'edge-1' },
    reporter: { description: 'The device or the client.', example: 'edge-1' },
    clientId: { description: 'The client.', example: 'edge-1' },
    deploymentId: { description: 'The deployment.', example: 'pump' },
    digest: { description: 'As the manifest has it.', example: 'sha256:9f86d08' },
  },
}
