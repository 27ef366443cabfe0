/** The variables of the archive. Those of S3 have the names that Amazon's own tools use, so other values than ours are no mistake. */
import { z } from 'zod'
import type { ArchiveConfig } from '../../api/export/archive/open.ts'
import { isWeb } from './addresses.ts'
import { flag } from './values.ts'

/** A bucket, and the beginning of the names of the objects. */
const bucketAddress = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]{1,64}){0,8})\/?$/

/** The message does not quote the address, in which an operator may have put a key. */
const archive = z.string().refine((address) => isBucket(address) || !/^[a-z][a-z0-9+.-]*:\/\//i.test(address), {
  error: 'must be the path of a directory, s3://BUCKET or s3://BUCKET/PREFIX',
})
const text = z.string().nullable().default(null)

export const archiveVariables = {
  ARCHIVE: archive.nullable().default(null),
  ARCHIVE_PATH_STYLE: flag.optional(),
  AWS_ACCESS_KEY_ID: text,
  AWS_SECRET_ACCESS_KEY: text,
  AWS_SESSION_TOKEN: text,
  AWS_REGION: text,
  AWS_DEFAULT_REGION: text,
  AWS_ENDPOINT_URL_S3: text,
  AWS_ENDPOINT_URL: text,
}

type Given = z.infer<z.ZodObject<typeof archiveVariables>>

export function archiveConfig(v: Given): ArchiveConfig | null {
  if (v.ARCHIVE === null) return null
  const [, bucket, prefix = ''] = bucketAddress.exec(v.ARCHIVE) ?? []
  if (bucket === undefined) return { kind: 'directory', path: v.ARCHIVE }
  const region = v.AWS_REGION ?? v.AWS_DEFAULT_REGION ?? 'us-east-1'
  const given = v.AWS_ENDPOINT_URL_S3 ?? v.AWS_ENDPOINT_URL
  const endpoint = (given ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, '')
  // Certificates of Amazon do not cover a bucket with a dot, and few other servers have a name for each bucket.
  const isPath = v.ARCHIVE_PATH_STYLE ?? (given !== null || bucket.includes('.'))
  const base = isPath ? `${endpoint}/${bucket}` : endpoint.replace('://', `://${bucket}.`)
  return {
    kind: 's3',
    url: `${base}${prefix}`,
    region,
    accessKeyId: v.AWS_ACCESS_KEY_ID ?? '',
    secretAccessKey: v.AWS_SECRET_ACCESS_KEY ?? '',
    sessionToken: v.AWS_SESSION_TOKEN,
  }
}

/** What a bucket requires. The values are checked only where there is one: the variables may be meant for another program. */
export function archiveProblems(given: Readonly<Record<string, string | undefined>>): string[] {
  if (given.ARCHIVE === undefined || !isBucket(given.ARCHIVE))
    return given.ARCHIVE_PATH_STYLE === undefined ? [] : ['ARCHIVE_PATH_STYLE has no effect unless ARCHIVE is a bucket']
  const name = given.AWS_ENDPOINT_URL_S3 === undefined ? 'AWS_ENDPOINT_URL' : 'AWS_ENDPOINT_URL_S3'
  const region = given.AWS_REGION ?? given.AWS_DEFAULT_REGION
  const problems = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'].flatMap((key) =>
    given[key] === undefined ? [`${key} is required by a bucket as ARCHIVE`] : [],
  )
  if (region === undefined && given[name] === undefined)
    problems.push('AWS_REGION is required by a bucket as ARCHIVE, unless AWS_ENDPOINT_URL is set')
  if (region !== undefined && !/^[a-z0-9-]{1,40}$/.test(region))
    problems.push('AWS_REGION must be letters in lower case, digits and "-"')
  // The message does not quote the URL, which may hold a password.
  if (given[name] !== undefined && !isWeb(URL.parse(given[name])))
    problems.push(
      `${name} must be an http or https URL without a user, a password and a query, and its host without a dot at the end`,
    )
  return problems
}

function isBucket(address: string): boolean {
  return bucketAddress.test(address)
}
