/**
 * Objects in a bucket of S3, or of a server with its protocol. S3 shows an object only when it is complete, and a read after a write finds it, so an
 * object needs no temporary name. The files of the archive are small enough for one request each; an upload in parts was rejected, because a killed
 * server leaves its parts in the bucket, at a cost.
 */
import { createHash } from 'node:crypto'
import { AwsV4Signer } from 'aws4fetch'
import { type Fetch, fetchOpen } from '../../../platform/outbound/fetch.ts'
import { readBytes } from '../../../platform/outbound/request.ts'
import type { Storage } from './directory.ts'

export interface BucketConfig {
  /** The address of the objects, without a trailing slash. */
  readonly url: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Null: the key is not a temporary one. */
  readonly sessionToken: string | null
}

interface BucketOptions {
  /** Ends requests. */
  readonly signal?: AbortSignal
  readonly fetch?: Fetch
}

/** Milliseconds for one object. */
const patience = 300_000
/** Bytes. A server that sends more, or without end, would fill the memory. */
const largestRefusal = 64 * 2 ** 10

export function createBucket(
  { url: base, region, accessKeyId, secretAccessKey, sessionToken }: BucketConfig,
  { signal, fetch: send = fetchOpen }: BucketOptions = {},
): Storage {
  const keys = { accessKeyId, secretAccessKey, ...(sessionToken !== null && { sessionToken }) }

  async function request(method: 'GET' | 'PUT', name: string, body?: Uint8Array): Promise<Response> {
    // The signature covers the digest, so the server refuses a body that is not complete.
    const digest = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const signed = await new AwsV4Signer({
      ...{ method, url: `${base}/${name}`, region, service: 's3', ...keys },
      headers: { 'x-amz-content-sha256': digest },
    }).sign()
    const late = AbortSignal.timeout(patience)
    return send(signed.url.href, {
      ...{ method, headers: signed.headers, signal: signal ? AbortSignal.any([signal, late]) : late },
      ...(body && { body }),
    }).catch((cause: unknown) => {
      throw new Error(`the bucket cannot be reached at ${signed.url.host}`, { cause })
    })
  }

  return {
    async put(name, bytes) {
      const response = await request('PUT', name, bytes)
      if (!response.ok) throw await refusalOf(response, `to store ${name}`)
      await response.body?.cancel()
    },
    async get(name, most) {
      const response = await request('GET', name)
      if (response.ok) return bytesOf(response, most)
      const refusal = await refusalOf(response, `to send ${name}`)
      if (refusal.code === 'NoSuchKey') return null
      throw refusal
    },
  }
}

/** Of the answer, only the code is shown: the rest may have the identity of the key. */
async function refusalOf(response: Response, what: string): Promise<Error & { readonly code: string }> {
  const [, code = ''] = /<Code>(\w{1,64})<\/Code>/.exec((await bytesOf(response, largestRefusal)).toString()) ?? []
  return Object.assign(new Error(`the bucket refuses ${what}: ${response.status} ${code}`.trimEnd()), { code })
}

async function bytesOf(response: Response, limit: number): Promise<Buffer> {
  const { bytes, isWhole } = await readBytes(response.body ?? [], limit).catch((cause: unknown) => {
    throw new Error('the bucket ends its answer early', { cause })
  })
  if (!isWhole) throw new Error(`the bucket sends more than ${limit} bytes`)
  return bytes
}
