/** What the OpenAPI document says of EMCO's routes, and the JSON Schemas of its bodies (docs/wire.md §2). */
import { mostItems } from '../../../domain/orchestration/orchestrated-facts.ts'
import {
  anything,
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
import { lists } from '../kubernetes/bundle-state.ts'
import { actionWords, connectivityWords, syncWords } from './vocabulary.ts'

const verdict = word(['APPLIED', 'UNCHANGED', 'STALE'], 'What became of it.')
const gvk = object({ 'Group?': text(256), 'Version?': text(256), Kind: id('The kind of the object.') })
const cluster: Schema = {
  ...{ type: 'string', minLength: 3, maxLength: 256, pattern: '^[^\\u0000+]+\\+[^\\u0000+]+$' },
  description: 'provider+name',
}
const resource = {
  GVK: gvk,
  name: id('The name of the object.'),
  'namespace?': text(256),
  'rsync-status?': word(syncWords, 'Absent: Pending.'),
}
const pods = object({ metadata: object({ name: id('Its name.') }), 'status?': anything('As Kubernetes has it.') })
const accepted = {
  description: 'The verdict.',
  schema: object({ verdict, revision, 'errors?': fieldProblems }),
  example: { verdict: 'APPLIED', revision: '1764376000000001' },
}
const example = {
  app: 'sink',
  cluster: 'cloud+edge01',
  GVK: { Group: 'apps', Version: 'v1', Kind: 'Deployment' },
  name: 'sink',
  'rsync-status': 'Applied',
}
const recorded = (description: string) => ({
  description,
  schema: object({ state: anything('All actions.'), revision }),
})
const query = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more })

export const emcoContract: Contract = {
  tag: 'EMCO',
  description: 'What the orchestrator EMCO and the monitors of its clusters report, and its status queries.',
  operations: {
    showStatus: {
      summary: "Ask for the status in EMCO's format",
      answers: {
        200: {
          description: 'With the keys of the generation of the request.',
          schema: anything('docs/orchestrators.md has examples.'),
          example: { project: 'vfw', compositeApp: 'firewall', name: 'east', readyStatus: 'NotReady' },
        },
      },
      problems: ['NOT_FOUND', 'BAD_USER_INPUT', 'TIMED_OUT'],
      query: {
        type: query('The generation of the design.', { enum: ['rsync', 'cluster'] }),
        status: query('The generation of 22.03.', { enum: ['deployed', 'ready'] }),
        output: query('How much of it.', { enum: ['summary', 'all', 'detail'] }),
        app: query('May be repeated.'),
        cluster: query('provider+name, with the plus as %2B. May be repeated.'),
        resource: query('May be repeated.'),
        instance: query('Empty: lists the instances.'),
        apps: query('Lists the apps only.'),
        clusters: query('Lists the clusters only.'),
        resources: query('Lists the resources only.'),
      },
    },
    recordActions: {
      summary: 'Record lifecycle actions',
      body: {
        'emco-action': { State: 'Instantiated', ContextId: '4242', TimeStamp: '2026-07-10T06:12:03Z' },
        'emco-actions': { Actions: [{ State: 'Created' }, { State: 'Approved' }] },
      },
      answers: { 201: recorded('They are recorded.'), 200: recorded('They were recorded before.') },
      problems: ['NOT_FOUND_YET', 'CONFLICT'],
    },
    reportResources: {
      summary: 'Report the resources of an instance that were applied',
      description: `At most ${mostItems}, in one list or grouped as in a status answer. Each has its own verdict.`,
      body: { 'emco-resources': { resources: [example] } },
      answers: {
        200: {
          description: 'A result for each resource, in order.',
          schema: object({
            revision,
            results: list(object({ verdict: string, 'errors?': fieldProblems })),
          }),
          example: { revision: '1764376000000001', results: [{ verdict: 'APPLIED' }] },
        },
      },
      problems: ['NOT_FOUND_YET', 'CONFLICT'],
    },
    reportBundleState: {
      summary: 'Report all objects of a component in a cluster',
      description: 'The custom resource unchanged. An object that it does not list does not exist.',
      body: {
        'emco-resource-bundle-state': {
          kind: 'ResourceBundleState',
          metadata: { name: 'sink-4242', labels: { 'emco/deployment-id': '4242-sink' } },
          status: { deploymentStatuses: [{ metadata: { name: 'sink' }, status: { readyReplicas: 1 } }] },
        },
      },
      answers: { 200: accepted },
      problems: ['NOT_FOUND_YET', 'CONFLICT'],
    },
    reportConnectivity: {
      summary: 'Report whether a cluster can be reached',
      body: { 'emco-connectivity': { connectivity: 'Available' } },
      answers: { 200: accepted },
      problems: ['NOT_FOUND_YET', 'CONFLICT'],
    },
  },
  schemas: {
    'emco-action': object({
      State: word(actionWords, 'The action.'),
      'ContextId?': text(256, { description: 'The instance. Empty or absent: the current one.' }),
      'TimeStamp?': time('Absent: the time of this server.'),
      'composite-profile-name?': text(256),
    }),
    'emco-actions': object({ Actions: list(ref('emco-action'), { minItems: 1, maxItems: mostItems }) }),
    'emco-resources': object({
      resources: list(object({ app: id('The component.'), cluster, ...resource }), { maxItems: mostItems }),
    }),
    'emco-resource-bundle-state': object({
      'kind?': { type: 'string', const: 'ResourceBundleState' },
      metadata: object({
        'name?': text(256),
        labels: object({
          'emco/deployment-id': {
            ...{ type: 'string', maxLength: 256, pattern: '^[A-Za-z0-9]{1,64}-[A-Za-z0-9.-]{1,128}$' },
            description: '<context id>-<app>',
          },
        }),
        'uid?': text(256),
        'resourceVersion?': text(256),
      }),
      'status?': object(Object.fromEntries(Object.keys(lists).map((name) => [`${name}?`, list(pods)]))),
    }),
    'emco-connectivity': object({ connectivity: word(connectivityWords, 'As EMCO says it.') }),
  },
  parameters: {
    project: { description: 'The project.', example: 'vfw' },
    'composite-app': { description: 'The composite application.', example: 'firewall' },
    version: { description: 'Its version.', example: 'v1' },
    'deployment-intent-group': { description: 'The deployment intent group.', example: 'east' },
    'cluster-provider': { description: 'The provider of the cluster.', example: 'cloud' },
    cluster: { description: 'The cluster.', example: 'edge01' },
    contextId: { description: 'The instance: the id of its status context.', example: '4242' },
    place: { description: 'The cluster: provider+name.', example: 'cloud+edge01' },
  },
}
