/** Notifications about an instance: status subscriptions, and so-cnf-adapter's calls for A&AI (docs/wire.md §3, §4). */
import { DomainError } from '../../../domain/errors.ts'
import type { Instance } from '../../../domain/orchestration/instance.ts'
import { parseJson, plainJson } from '../../../platform/body/json.ts'
import { complain, isAbsent, isObject, type Problems, refusal, shown } from '../../../platform/body/problems.ts'
import type { BodyRule } from '../../../platform/body/rule.ts'
import { idProblem, readId, urlProblem } from '../../../platform/body/text.ts'
import type {
  Callback,
  CallbackSettings,
  InventoryPlace,
  Managing,
  ManagingContext,
  Method,
  Methods,
} from '../dialect.ts'
import type { Readers } from '../readers.ts'

/** As in the plugin, an empty body is a 400 and invalid JSON is a 422. */
const json: BodyRule = {
  media: ['application/json'],
  limit: 1 << 16,
  parse(bytes) {
    if (bytes.length === 0) throw new DomainError('INVALID_REQUEST', 'the body is empty')
    try {
      return parseJson(bytes)
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      const problems = [{ field: 'body', message: 'must be valid JSON' }]
      throw new DomainError('SEMANTIC_ERROR', error.message, { problems })
    }
  },
}

const managing = (operation: string, body: BodyRule | null, manage: Managing['manage']): Method => ({
  ...{ operation, does: 'manage', body, manage },
})

export function subscriptionMethods(
  route:
    | { readonly of: 'subscriptions'; readonly instanceId: string }
    | { readonly of: 'subscription'; readonly instanceId: string; readonly subscription: string },
): Methods {
  const { instanceId } = route
  if (route.of === 'subscriptions')
    return {
      GET: managing('listSubscriptions', null, async (_, { readers, callbacks }) => {
        const { key } = await requireInstance(readers, instanceId)
        return { status: 200, json: (await callbacks.of(key)).map(show) }
      }),
      POST: managing('subscribe', json, (body, context) => subscribe(body, context, instanceId)),
    }
  const { subscription } = route
  return {
    GET: managing('showSubscription', null, async (_, context) => ({
      status: 200,
      json: show(await find(context, instanceId, subscription)),
    })),
    PUT: managing('changeSubscription', json, (body, context) => change(body, context, instanceId, subscription)),
    DELETE: managing('unsubscribe', null, async (_, context) => {
      const { key } = await find(context, instanceId, subscription)
      await context.callbacks.delete(key)
      return { status: 204 }
    }),
  }
}

async function subscribe(sent: unknown, { readers, callbacks, refuseUrl }: ManagingContext, instanceId: string) {
  const { name, ...settings } = parseSubscription(sent, refuseUrl, null)
  const { key, reportedState } = await requireInstance(readers, instanceId)
  if (reportedState === 'REMOVED') throw unknownInstance(instanceId)
  return { status: 201, json: show(await callbacks.create(key, name, settings)) }
}

async function change(sent: unknown, context: ManagingContext, instanceId: string, subscription: string) {
  const { name: _, ...settings } = parseSubscription(sent, context.refuseUrl, subscription)
  const { key } = await find(context, instanceId, subscription)
  const changed = await context.callbacks.change(key, settings)
  if (!changed) throw new DomainError('NOT_FOUND', `there is no subscription ${subscription}`)
  return { status: 200, json: show(changed) }
}

/** Keeps the inventory in step with the instance, until a call with `isEnding` stops it. */
export function keepInventory({ isEnding }: { readonly isEnding: boolean }): Methods {
  return {
    POST: managing(isEnding ? 'deleteInventory' : 'updateInventory', json, async (sent, { refuseUrl, announce }) => {
      const { instanceId, ...place } = parseInventoryOwner(sent, refuseUrl)
      await announce(instanceId, place, isEnding)
      return { status: 202, json: { instanceId } }
    }),
  }
}

function show(callback: Callback): object {
  const { name, url, minNotifyInterval, metadata, createdAt, attemptedAt, succeededAt, lastStatus } = callback
  return {
    name,
    'min-notify-interval': minNotifyInterval,
    'last-update-time': new Date(succeededAt ?? createdAt).toISOString(),
    'callback-url': url,
    'last-notify-time': attemptedAt === null ? null : new Date(attemptedAt).toISOString(),
    'last-notify-status': lastStatus,
    metadata,
  }
}

async function requireInstance(readers: Readers, instanceId: string): Promise<Instance> {
  const instance = await readers.instance(instanceId)
  if (!instance) throw unknownInstance(instanceId)
  return instance
}

function unknownInstance(instanceId: string): DomainError {
  return new DomainError('NOT_FOUND', `there is no instance ${instanceId}`)
}

async function find({ readers, callbacks }: ManagingContext, instanceId: string, name: string): Promise<Callback> {
  const { key } = await requireInstance(readers, instanceId)
  const found = (await callbacks.of(key)).find((one) => one.name === name)
  if (!found) throw new DomainError('NOT_FOUND', `instance ${instanceId} has no subscription ${name}`)
  return found
}

/** so-cnf-adapter's call that states which A&AI objects own an instance (docs/wire.md §4). */
function parseInventoryOwner(
  body: unknown,
  refuseUrl: (url: string) => string | null,
): InventoryPlace & { readonly instanceId: string } {
  const problems: Problems = { list: null }
  if (!isObject(body))
    throw refusal([{ field: 'body', message: `must be an object, but is ${shown(body)}` }], 'The request')
  const required = (field: string): string => readId(problems, field, body[field]) ?? ''
  const optional = (field: string, problemOf = idProblem): string | null =>
    isAbsent(body[field]) || body[field] === '' ? null : readId(problems, field, body[field], problemOf)
  const callbackUrl = optional('callbackUrl', urlProblem)
  const refused = callbackUrl === null ? null : refuseUrl(callbackUrl)
  if (refused) complain(problems, 'callbackUrl', refused)
  const belonging = {
    instanceId: required('instanceId'),
    cloudOwner: required('cloudOwner'),
    cloudRegion: required('cloudRegion'),
    tenantId: required('tenantId'),
    genericVnfId: optional('genericVnfId'),
    vfModuleId: optional('vfModuleId'),
    callbackUrl,
  }
  if (belonging.vfModuleId !== null && belonging.genericVnfId === null)
    complain(problems, 'genericVnfId', 'is needed to find the vf-module')
  if (problems.list) throw refusal(problems.list, 'The request')
  return belonging
}

/** The body of a status subscription (docs/wire.md §3). `refuseUrl`: returns why an address may not be called. `name`: the name in the path, which the body may repeat. */
function parseSubscription(
  body: unknown,
  refuseUrl: (url: string) => string | null,
  name: string | null,
): CallbackSettings & { readonly name: string } {
  const problems: Problems = { list: null }
  if (!isObject(body))
    throw refusal([{ field: 'body', message: `must be an object, but is ${shown(body)}` }], 'The subscription')
  const given = name === null || !isAbsent(body.name) ? readId(problems, 'name', body.name) : name
  if (name !== null && given !== null && given !== name)
    complain(problems, 'name', `must be ${shown(name)}, as in the path`)
  const callbackUrl = readId(problems, 'callback-url', body['callback-url'], urlProblem)
  const refused = callbackUrl === null ? null : refuseUrl(callbackUrl)
  if (refused) complain(problems, 'callback-url', refused)
  const interval = body['min-notify-interval'] ?? 0
  const isInterval = typeof interval === 'number' && Number.isInteger(interval) && interval >= 0 && interval <= 86_400
  if (!isInterval)
    complain(problems, 'min-notify-interval', `must be whole seconds from 0 to 86400, but is ${shown(interval)}`)
  const { secret } = body
  if (!isAbsent(secret) && (typeof secret !== 'string' || idProblem(secret) !== null))
    complain(problems, 'secret', 'must be a text of 1 to 256 characters, without NUL or half a surrogate pair')
  if (problems.list || given === null || callbackUrl === null) throw refusal(problems.list ?? [], 'The subscription')
  return {
    name: given,
    url: callbackUrl,
    minNotifyInterval: Number(interval),
    metadata: JSON.parse(plainJson(body.metadata ?? null)),
    // Rollcall's own field, which signs the callbacks.
    ...(secret === undefined ? {} : { secret: secret as string | null }),
  }
}
