/**
 * Git's smart HTTP protocol, read only: `/git/{deviceId}.git`. Git clients send credentials only after a 401, and show errors in plain text.
 */
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { manifestOwner } from '../../../domain/desired.ts'
import { DomainError } from '../../../domain/errors.ts'
import { readIds } from '../../../ingest/dialects/router.ts'
import { singleParameters } from '../../../platform/body/parameters.ts'
import type { Git } from '../../git/git.ts'
import type { Protocol } from '../../git/program.ts'
import { answer, decodeBody, type Exchange, lazyBody, type Methods, searchOf } from '../exchange.ts'
import { toProblem } from '../problem.ts'
import { emptyBody } from './device-caller.ts'
import { type GitCallerDeps, isGit, requireReader } from './git-caller.ts'

export interface GitDeps extends GitCallerDeps {
  readonly git: Git
}

/** Bytes, before and after decompression. The body lists the commits that the client has. */
const bodyLimit = 4 << 20

const uploadPack = 'git-upload-pack'
const receivePack = 'git-receive-pack'

/** The path of the repository with the desired state of this device. */
export function repositoryPath(device: string): string {
  return `/git/${encodeURIComponent(manifestOwner(device))}.git`
}

/** Null: the path is not a Git route. */
export function gitMethods(deps: GitDeps, path: string): Methods | null {
  const [, encoded = '', service = ''] = /^\/git\/([^/]*)\.git(?:\/(.*))?$/.exec(path) ?? []
  if (encoded === '') return null
  const serve = (work: (exchange: Exchange, device: string) => Promise<void>) =>
    ({
      access: 'device',
      handle: (exchange: Exchange) =>
        withPlainErrors(exchange, () => work(exchange, readIds({ deviceId: encoded }).deviceId)),
    }) as const
  switch (service) {
    case 'info/refs':
      return { GET: serve((exchange, device) => advertise(deps, exchange, device)) }
    case uploadPack:
      return { POST: serve((exchange, device) => upload(deps, exchange, device)) }
    case receivePack:
      return { POST: serve(() => Promise.reject(readOnly())) }
    default:
      return { GET: serve(() => Promise.reject(notForBrowsers(path))) }
  }
}

async function advertise(deps: GitDeps, exchange: Exchange, device: string): Promise<void> {
  const { request } = exchange
  const service = singleParameters(searchOf(request.url)).get('service')
  requireGit(deps)
  if (service === receivePack) throw readOnly()
  if (service !== uploadPack) throw notForBrowsers(exchange.path)
  await requireReader(deps, exchange, device, emptyBody)
  const protocol = protocolOf(request)
  // Version 2 of the protocol has no service announcement.
  const announcement = protocol === 2 ? '' : `${packet(`# service=${uploadPack}\n`)}0000`
  await sendOutput(deps, exchange, device, { protocol, body: null }, 'advertisement', announcement)
}

async function upload(deps: GitDeps, exchange: Exchange, device: string): Promise<void> {
  const { request } = exchange
  requireGit(deps)
  const type = request.headers['content-type']
  if (type !== `application/x-${uploadPack}-request`)
    throw new DomainError('UNSUPPORTED_MEDIA_TYPE', `a body of Content-Type ${type} is not a request of Git`)
  const read = lazyBody(exchange, bodyLimit)
  await requireReader(deps, exchange, device, read)
  const body = await decodeBody(exchange, await read(), bodyLimit)
  await sendOutput(deps, exchange, device, { protocol: protocolOf(request), body }, 'result', '')
}

async function sendOutput(
  { git }: GitDeps,
  { response }: Exchange,
  device: string,
  asked: { readonly protocol: Protocol; readonly body: Uint8Array | null },
  kind: 'advertisement' | 'result',
  announcement: string,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort(new Error('the client closed the connection')))
  if (response.destroyed) return
  try {
    await git.uploadPack(device, { ...asked, signal: gone.signal }, async (output) => {
      response.writeHead(200, { 'content-type': `application/x-${uploadPack}-${kind}`, 'cache-control': 'no-cache' })
      response.write(announcement)
      await pipeline(output, response)
    })
  } catch (error) {
    if (!response.destroyed) throw error
  }
}

function requireGit({ git: { missing } }: GitDeps): void {
  if (missing !== null) throw new DomainError('NOT_FOUND', `${missing}; fetch desired state from /api/v1/deployments`)
}

function readOnly(): DomainError {
  return new DomainError('FORBIDDEN', 'this repository is read only: desired state is changed with declareDeployments')
}

function notForBrowsers(path: string): DomainError {
  const [repository = ''] = /^\/git\/[^/]*\.git/.exec(path) ?? []
  return new DomainError('NOT_FOUND', `${repository} is for Git over smart HTTP: git clone it`)
}

function protocolOf({ headers }: IncomingMessage): Protocol {
  const [, version] = /(?:^|:)version=([12])(?:$|:)/.exec(String(headers['git-protocol'] ?? '')) ?? []
  return version === '2' ? 2 : version === '1' ? 1 : 0
}

function packet(line: string): string {
  return (line.length + 4).toString(16).padStart(4, '0') + line
}

/** Sends errors to Git in plain text: Git shows no other media type to its user. */
async function withPlainErrors(exchange: Exchange, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isGit(exchange.request.headers) || !(error instanceof DomainError) || exchange.response.headersSent)
      throw error
    const { status, headers } = toProblem(error, exchange.id)
    answer(exchange, status, 'text/plain; charset=utf-8', `${error.message}\n`, without(headers, 'content-type'))
  }
}

function without(headers: Readonly<Record<string, string>>, name: string): Record<string, string> {
  const { [name]: _, ...rest } = headers
  return rest
}
