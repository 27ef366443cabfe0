/** SPIFFE ids: names of workloads, as certificates carry them. */

/** Of the standard's form: a trust domain and a path, nothing else. Else what is wrong with it. */
export function problemOfSpiffeId(text: string): string | null {
  return spiffeId.test(text) && text.length <= 2048
    ? null
    : 'must be a SPIFFE id such as spiffe://fleet.example/margo/wfm/1/client/press-1'
}

const spiffeId = /^spiffe:\/\/[a-z0-9._-]{1,255}(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._-]+)+$/
