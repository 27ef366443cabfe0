/** SPIFFE ids: names of workloads in certificates. */

/** Null: the text is a SPIFFE id, a trust domain and a path only. Otherwise the problem. */
export function problemOfSpiffeId(text: string): string | null {
  return form.test(text) && text.length <= longest
    ? null
    : 'must be a SPIFFE id such as spiffe://fleet.example/margo/wfm/1/client/press-1'
}

/**
 * The only URI among the names of a certificate, in the format of Node. Node quotes a name with characters that could end it, and a SPIFFE
 * id has none of them.
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

/** The client of the path `/margo/wfm/<id>/client/<clientId>`. Null: another path. */
export function clientOf(spiffeId: string): string | null {
  const [, client = null] = /^spiffe:\/\/[^/]+\/margo\/wfm\/[^/]+\/client\/([^/]{1,256})$/.exec(spiffeId) ?? []
  return client
}

/** The WFM that the path `/margo/wfm/<id>` names, which is a server's own name. Null: another path. */
export function wfmOf(spiffeId: string): string | null {
  return /^spiffe:\/\/[^/]+\/margo\/wfm\/([^/]+)$/.exec(spiffeId)?.[1] ?? null
}

const longest = 2048
const form = /^spiffe:\/\/[a-z0-9._-]{1,255}(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._-]+)+$/
