/**
 * The program of s3-server.ts: PUT and GET of objects by the protocol of S3. It checks the signature (AWS Signature Version 4) and the digest of each
 * request, as the documentation describes them. No server from the registry fits: their licences are unknown, or they sign host names otherwise.
 */
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'

const [folder = '', port = '0', accessKey = '', secret = ''] = process.argv.slice(2)
const hash = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const sign = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The code of the error. Null: the request is what its key has signed. */
function refusalOf({ method, url = '', headers }: IncomingMessage, body: Buffer): string | null {
  const form = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/
  const [, key, scope = '', names = '', signature] = form.exec(headers.authorization ?? '') ?? []
  if (key === undefined) return 'AccessDenied'
  if (key !== accessKey) return 'InvalidAccessKeyId'
  const [time, digest] = [String(headers['x-amz-date']), String(headers['x-amz-content-sha256'])]
  const at = Date.parse(time.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
  if (!(Math.abs(Date.now() - at) < 900_000)) return 'RequestTimeTooSkewed'
  const listed = names.split(';')
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => listed.includes(name))) return 'AccessDenied'
  const lines = listed.map((name) => `${name}:${headers[name]}\n`).join('')
  const canonical = [method, url, '', lines, names, digest].join('\n')
  const secretOfScope = scope.split('/').reduce<string | Buffer>(sign, `AWS4${secret}`)
  const expected = sign(secretOfScope, ['AWS4-HMAC-SHA256', time, scope, hash(canonical)].join('\n'))
  if (signature !== expected.toString('hex')) return 'SignatureDoesNotMatch'
  return digest === hash(body) ? null : 'XAmzContentSHA256Mismatch'
}

/** The path of an object. The bucket is the first part of the host name, or of the path. */
function pathOf({ url = '', headers }: IncomingMessage): { readonly bucket: string; readonly path: string } {
  const host = String(headers.host).replace(/:\d+$/, '')
  const parts = url.split('/').slice(1)
  const bucket = isIP(host) ? parts.shift() : host.split('.')[0]
  return { bucket: join(folder, bucket ?? ''), path: join(folder, bucket ?? '', ...parts) }
}

function answer(request: IncomingMessage, body: Buffer): readonly [number, string | Buffer] {
  const refuse = (status: number, code: string) =>
    [
      status,
      `<?xml version="1.0"?><Error><Code>${code}</Code><AWSAccessKeyId>${accessKey}</AWSAccessKeyId></Error>`,
    ] as const
  const refusal = refusalOf(request, body)
  if (refusal !== null) return refuse(403, refusal)
  const { bucket, path } = pathOf(request)
  if (!existsSync(bucket)) return refuse(404, 'NoSuchBucket')
  if (request.method === 'GET') return existsSync(path) ? [200, readFileSync(path)] : refuse(404, 'NoSuchKey')
  if (request.method !== 'PUT') return refuse(405, 'MethodNotAllowed')
  const temporary = join(folder, randomUUID())
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(temporary, body)
  renameSync(temporary, path)
  return [200, '']
}

const server = createServer(async (request, response) => {
  const body = await buffer(request).catch(() => null)
  if (body === null) return
  const [status, content] = answer(request, body)
  response.writeHead(status).end(content)
})
server.listen(Number(port), '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
