/** The variables of the server above. */
import { z } from 'zod'
import type { UpstreamConfig } from '../../outlets/upstream/config.ts'
import { secureUrl } from './addresses.ts'

/** The message does not quote it. It is sent in a header of HTTP. */
const token = z.string().regex(/^[\x21-\x7e]{1,4096}$/, { error: 'must be printable ASCII characters without spaces' })
const path = z.string().nullable().default(null)

export const upstreamVariables = {
  UPSTREAM_URL: secureUrl.nullable().default(null),
  UPSTREAM_TOKEN: token.nullable().default(null),
  UPSTREAM_CERT: path,
  UPSTREAM_KEY: path,
  UPSTREAM_CA: path,
}

type Given = z.infer<z.ZodObject<typeof upstreamVariables>>

export function upstreamConfig(v: Given): UpstreamConfig | null {
  if (v.UPSTREAM_URL === null) return null
  return {
    url: v.UPSTREAM_URL.replace(/\/+$/, ''),
    token: v.UPSTREAM_TOKEN,
    files: { cert: v.UPSTREAM_CERT, key: v.UPSTREAM_KEY, ca: v.UPSTREAM_CA },
  }
}

/** What a server above requires. */
export function upstreamProblems(given: Readonly<Record<string, string | undefined>>): string[] {
  const { UPSTREAM_URL: url, UPSTREAM_TOKEN: token, UPSTREAM_CERT: cert, UPSTREAM_KEY: key } = given
  if (url === undefined)
    return Object.keys(given)
      .filter((name) => name.startsWith('UPSTREAM_') && given[name] !== undefined)
      .map((name) => `${name} has no effect without UPSTREAM_URL`)
  const problems: string[] = []
  if (token === undefined && cert === undefined && key === undefined)
    problems.push(
      'UPSTREAM_URL requires UPSTREAM_TOKEN, or UPSTREAM_CERT and UPSTREAM_KEY: the server above must know who sends',
    )
  if ((cert === undefined) !== (key === undefined))
    problems.push('UPSTREAM_CERT and UPSTREAM_KEY require each other: set both')
  if (url.startsWith('http:'))
    problems.push(
      ...['UPSTREAM_CERT', 'UPSTREAM_KEY', 'UPSTREAM_CA'].flatMap((name) =>
        given[name] === undefined ? [] : [`${name} has no effect unless UPSTREAM_URL is https`],
      ),
    )
  return problems
}
