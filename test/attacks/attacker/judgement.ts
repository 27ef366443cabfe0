/** What an answer says of the server. */
import type { Sent } from './sender.ts'

/** What no client should read: what a masked fault says, SQL, places in our code, and a database that cannot be reached. */
const unfit =
  /INTERNAL_SERVER_ERROR|Unexpected error|did not expect|"UNAVAILABLE"|Failed query|\bselect "|insert into|node:internal|\.ts:\d|Maximum call stack/i

/**
 * The limit by which a server without time refused. Limits of docs/graphql.md that are a 503: the second passes by itself, so it has to say when to come again. And `/readyz`, which gives up after some
 * seconds: on a busy machine that says nothing of the server. And sign-in, when the hostile issuer has failed.
 */
export function busyWith({ status, text, retryAfter }: Sent): string | null {
  if (text === '{"status":"not ready","reason":"the database does not answer"}') return '/readyz'
  if (status === 503 && /the issuer (fails with|cannot be reached)/.test(text)) return 'issuer'
  const [, limit] = /"limit":"(\w+)"/.exec(text) ?? []
  return status === 503 && (limit === 'time' || (limit === 'bufferedBytes' && retryAfter !== undefined)) ? limit : null
}

export function isFailure(answer: Sent): boolean {
  return busyWith(answer) === null && (answer.status >= 500 || unfit.test(answer.text))
}

/** A sink that sends to where only the server reaches. */
export function isInside({ text }: Sent): boolean {
  return /"CreateAlertmanagerSuccess"|"inside":\{"__typename":"UpdateWebhookSuccess"/.test(text)
}

const refused = new Set([0, 401, 403, 404, 405, 415, 429])

/** Neither the router, nor a credential, nor validation, nor a limit on how often refused it. */
export function isHandled({ status, text }: Sent): boolean {
  if (refused.has(status)) return false
  return !/"code":"(UNAUTHENTICATED|FORBIDDEN|TOO_MANY|GRAPHQL_VALIDATION_FAILED|GRAPHQL_PARSE_FAILED)"/.test(text)
}
