/** What the OpenAPI document says of the routes of k8splugin and so-cnf-adapter, and the JSON Schemas of their bodies (docs/wire.md §3, §4). */
import { readinesses } from '../../../domain/values.ts'
import { longestUrl } from '../../../platform/body/text.ts'
import {
  anything,
  type Contract,
  fieldProblems,
  id,
  list,
  object,
  revision,
  type Schema,
  string,
  text,
  word,
} from '../contract.ts'
import { mostObjects } from '../kubernetes/bundle-state.ts'
import { statuses } from './instance.ts'

const gvk = object({ 'Group?': text(256), 'Version?': text(256), Kind: id('The kind of the object.') })
const url: Schema = {
  ...{ type: 'string', maxLength: longestUrl, pattern: '^https?://[a-z0-9.-]+(:[0-9]{1,4})?(/[A-Za-z0-9._~/-]*)?$' },
  description: 'It may not be in this server, or in a network that the server must not call.',
}
const verdict = word(['APPLIED', 'UNCHANGED', 'STALE', 'REFUSED'], 'What became of it.')
const answered = (description: string) => ({
  description,
  schema: object({
    id: string,
    verdict,
    revision,
    'results?': list(object({ verdict, 'errors?': fieldProblems })),
  }),
  example: { id: 'i-1', verdict: 'APPLIED', revision: '1764376000000001' },
})
const request = { 'rb-name': 'edgex', 'rb-version': 'v1', 'profile-name': 'small', 'cloud-region': 'east' }
const GVK = { Group: 'apps', Version: 'v1', Kind: 'Deployment' }
const subscription = object({
  name: string,
  'min-notify-interval': { type: 'integer' },
  'last-update-time': string,
  'callback-url': string,
  'last-notify-time': { type: ['string', 'null'] },
  'last-notify-status': { type: ['integer', 'null'] },
  metadata: {},
})
const shown = (description: string) => ({ description, schema: subscription })
const body = {
  'k8splugin-subscription': { name: 'so', 'callback-url': 'http://so.lab/callback', 'min-notify-interval': 10 },
}
const inventory = {
  body: {
    'cnf-adapter-inventory': { instanceId: 'i-1', cloudOwner: 'CloudOwner', cloudRegion: 'east', tenantId: 't-1' },
  },
  answers: {
    202: { description: 'It is noted.', schema: object({ instanceId: string }), example: { instanceId: 'i-1' } },
  },
  problems: ['NOT_FOUND_YET', 'CONFLICT'],
} as const
const filter = (description: string): Schema => ({ type: 'string', description })

export const k8spluginContract: Contract = {
  tag: 'k8splugin',
  description: "The instance API of ONAP's k8splugin, and so-cnf-adapter's calls for the inventory A&AI.",
  operations: {
    listInstances: {
      summary: 'List instances',
      answers: {
        200: {
          description: 'Those that are not deleted, oldest first.',
          schema: list(
            object({ id: string, request: anything('As sent.'), 'release-name': string, namespace: string }),
          ),
          example: [{ id: 'i-1', request, 'release-name': '', namespace: '' }],
        },
      },
      problems: ['BAD_USER_INPUT', 'TIMED_OUT'],
      query: {
        'rb-name': filter('Of this resource bundle.'),
        'rb-version': filter('Of this version.'),
        'profile-name': filter('Of this profile.'),
      },
    },
    showInstance: {
      summary: 'Show an instance',
      answers: {
        200: {
          description: 'As it was sent.',
          schema: anything('k8splugin-instance'),
          example: { id: 'i-1', request },
        },
      },
      problems: ['NOT_FOUND', 'TIMED_OUT'],
    },
    putInstance: {
      summary: 'Report an instance',
      body: { 'k8splugin-instance': { request, resources: [{ GVK, Name: 'vault' }] } },
      answers: { 201: answered('It is new.'), 200: answered('It replaces what was known.') },
    },
    removeInstance: {
      summary: 'Report that an instance is deleted',
      answers: { 200: answered('It is removed.') },
      problems: ['NOT_FOUND'],
    },
    showInstanceStatus: {
      summary: 'Show the status of an instance',
      answers: {
        200: {
          description: 'Each object with its readiness.',
          schema: object({
            request: anything('As sent.'),
            ready: { type: 'boolean' },
            resourceCount: { type: 'integer' },
            resourcesStatus: list(object({ name: string, GVK: gvk, readiness: word(readinesses, 'Its readiness.') })),
            summary: anything('The readiness of all, and the number of objects by readiness.'),
          }),
        },
      },
      problems: ['NOT_FOUND', 'BAD_USER_INPUT', 'TIMED_OUT'],
      query: {
        kind: filter('Of this kind.'),
        name: filter('Of this name.'),
        namespace: filter('Of this namespace.'),
      },
    },
    putInstanceStatus: {
      summary: 'Report the state of all objects of an instance',
      body: { 'k8splugin-status': { resourcesStatus: [{ name: 'vault', GVK, status: { readyReplicas: 1 } }] } },
      answers: { 200: answered('One verdict for the list. An object that cannot be read is refused alone.') },
      problems: ['NOT_FOUND'],
    },
    listSubscriptions: {
      summary: 'List the subscriptions to an instance',
      answers: { 200: { description: 'All of them.', schema: list(subscription), example: [] } },
      problems: ['NOT_FOUND'],
    },
    subscribe: {
      summary: 'Subscribe to an instance by a callback',
      body,
      answers: { 201: shown('It exists.') },
      problems: ['NOT_FOUND', 'CONFLICT'],
    },
    showSubscription: { summary: 'Show a subscription', answers: { 200: shown('As it is.') }, problems: ['NOT_FOUND'] },
    changeSubscription: {
      summary: 'Change a subscription',
      body,
      answers: { 200: shown('As it is now.') },
      problems: ['NOT_FOUND', 'CONFLICT'],
    },
    unsubscribe: {
      summary: 'End a subscription',
      answers: { 204: { description: 'It is deleted.' } },
      problems: ['NOT_FOUND'],
    },
    updateInventory: { summary: 'Keep the inventory up to date with an instance', ...inventory },
    deleteInventory: { summary: 'Remove an instance from the inventory', ...inventory },
  },
  schemas: {
    'k8splugin-instance': object({
      'id?': { ...string, description: 'As in the path.' },
      request: object({
        'rb-name': id('The resource bundle.'),
        'rb-version': id('Its version.'),
        'profile-name?': id('Its profile.'),
        'cloud-region': id('The cluster.'),
      }),
      'namespace?': text(256),
      'status?': word(Object.keys(statuses), 'Or a word that ends in -FAILED. Absent: DONE.'),
      'resources?': list(object({ GVK: gvk, Name: id('The name of the object.') }), { maxItems: mostObjects }),
    }),
    'k8splugin-status': object({
      resourcesStatus: list(
        object({
          name: id('The name of the object.'),
          GVK: gvk,
          'status?': anything('The whole object, or its status block.'),
        }),
        { maxItems: mostObjects },
      ),
    }),
    'k8splugin-subscription': object({
      name: id('Its name.'),
      'callback-url': url,
      'min-notify-interval?': { type: 'integer', minimum: 0, maximum: 86_400, description: 'Seconds.' },
      'metadata?': { description: 'Any value. Each callback repeats it.' },
      'secret?': id('Signs the callbacks.'),
    }),
    'cnf-adapter-inventory': {
      ...object({
        instanceId: id('The instance.'),
        cloudOwner: id('Of the cloud region.'),
        cloudRegion: id('The cloud region.'),
        tenantId: id('The tenant.'),
        'genericVnfId?': id('The network function.'),
        'vfModuleId?': id('Its module.'),
        'callbackUrl?': url,
      }),
      dependentRequired: { vfModuleId: ['genericVnfId'] },
    },
  },
  parameters: {
    instanceId: { description: 'The instance.', example: 'i-1' },
    subscription: { description: 'The name of the subscription.', example: 'so' },
  },
}
