/** The body of a status subscription (docs/wire.md §3). */
import { plainJson } from '../../../platform/body/json.ts'
import { complain, isAbsent, isObject, type Problems, refusal, shown } from '../../../platform/body/problems.ts'
import { idProblem, readId, urlProblem } from '../../../platform/body/text.ts'
import type { CallbackSettings } from '../dialect.ts'

/** `refuseUrl`: returns why an address may not be called. `name`: the name in the path, which the body may repeat. */
export function parseSubscription(
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
