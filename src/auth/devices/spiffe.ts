/** SPIFFE ids: names of workloads, as certificates carry them. */

/** Of the standard's form: a trust domain and a path, nothing else. Else what is wrong with it. */
export function problemOfSpiffeId(text: string): string | null {
  return form.test(text) && text.length <= longest
    ? null
    : 'must be a SPIFFE id such as spiffe://fleet.example/margo/wfm/1/client/press-1'
}

/**
 * The one URI of a certificate's names, as Node prints them: what could be mistaken for the end of a name is in quotes there, and never
 * part of a SPIFFE id.
 */
export function spiffeIdOf(subjectAltName: string | undefined): string | null {
  const names = subjectAltName?.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []
  const [only, ...more] = names.map((name) => name.trim()).filter((name) => name.startsWith('URI:'))
  const id = only?.slice('URI:'.length) ?? ''
  return more.length === 0 && problemOfSpiffeId(id) === null ? id : null
}

export function trustDomainOf(spiffeId: string): string {
  return spiffeId.split('/')[2] ?? ''
}

/** `/margo/wfm/<id>/client/<clientId>`. Null: it names no client. */
export function clientOf(spiffeId: string): string | null {
  const [, client = null] = /^spiffe:\/\/[^/]+\/margo\/wfm\/[^/]+\/client\/([^/]{1,256})$/.exec(spiffeId) ?? []
  return client
}

const longest = 2048
const form = /^spiffe:\/\/[a-z0-9._-]{1,255}(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._-]+)+$/
