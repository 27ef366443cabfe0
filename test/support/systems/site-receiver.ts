/**
 * The server above, as the contract describes it (domain/sites/batch.ts): it keeps what it takes, replays it, and does to the sender what a test asks for. What
 * no sender may do is an entry of `violations`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { DeploymentImage } from '../../../src/domain/deployment.ts'
import { imageAt } from '../../../src/domain/fold.ts'
import type { RolloutName } from '../../../src/domain/rollout.ts'
import type { Batch, SiteFact, SitePosition, SiteTarget, Standing } from '../../../src/domain/sites/batch.ts'

/** Before it looks at a request, or after it has taken a batch. */
export type Fault =
  | { readonly do: 'cut' | 'cut after'; readonly wait?: number }
  | { readonly do: 'answer' | 'answer after'; readonly status: number; readonly body: string }
  | { readonly do: 'endless' | 'half' | 'silent' }

export interface HeldDeployment {
  readonly deploymentId: string
  readonly reporter: string
  readonly target: number
  readonly rollout: RolloutName
  readonly image: DeploymentImage
}

export type HeldTarget = SiteTarget & { readonly connectivity: string }

interface Held {
  position: SitePosition | null
  snapshot: Standing['snapshot']
  deployments: Map<number, HeldDeployment>
  targets: Map<number, HeldTarget>
  /** Of the snapshot that is being received. */
  coming: { deployments: Map<number, HeldDeployment>; targets: Map<number, HeldTarget> }
  facts: SiteFact[]
  snapshots: number
  /** Keys that it asks for, although it has what they name. */
  lost: { deployments: Set<number>; targets: Set<number> }
}

const empty = (): Held => ({
  ...{ position: null, snapshot: null, deployments: new Map(), targets: new Map(), facts: [], snapshots: 0 },
  coming: { deployments: new Map(), targets: new Map() },
  lost: { deployments: new Set(), targets: new Set() },
})

export interface SiteReceiver {
  readonly url: string
  held(): Held
  /** Every batch that was taken, and how many bytes it had. */
  readonly batches: readonly { readonly batch: Batch; readonly bytes: number; readonly coding: string }[]
  readonly violations: readonly string[]
  /** Requests, of any kind. */
  requests(): number
  /** What the next requests meet. Null: none. */
  fault(next: (request: IncomingMessage) => Fault | null): void
  /** What it has, for `restore`. */
  copy(): Held
  restore(copy: Held): void
  /** It no longer knows what the keys of the sender are, and asks. */
  loseNames(): void
  /** Resolves after the request after which the condition holds. */
  until(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

interface ReceiverOptions {
  readonly token?: string
  readonly codings?: string
  readonly protocols?: readonly number[]
  /** A port to be there again. */
  readonly port?: number
}

export async function startSiteReceiver(options: ReceiverOptions = {}): Promise<SiteReceiver> {
  const { token = 'of-plant', codings = 'gzip, zstd', protocols = [1], port = 0 } = options
  let held = empty()
  let faultOf: (request: IncomingMessage) => Fault | null = () => null
  let requests = 0
  const batches: { batch: Batch; bytes: number; coding: string }[] = []
  const violations: string[] = []
  const waiting = new Set<() => void>()

  const standing = (): Standing => ({
    ...{ protocols, site: 'plant', position: held.position, snapshot: held.snapshot },
  })

  function answer(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, { 'content-type': 'application/json', 'accept-encoding': codings })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests += 1
    const fault = faultOf(request)
    const bytes = await readAll(request)
    if (fault !== null && !fault.do.endsWith('after')) return commit(fault, request, response)
    if (request.headers.authorization !== `Bearer ${token}`)
      return answer(response, 401, { title: 'Unauthorized', detail: 'this token is of no site' })
    if (request.method === 'GET') return answer(response, 200, standing())
    const coding = String(request.headers['content-encoding'])
    const text = coding === 'zstd' ? zstdDecompressSync(bytes) : gunzipSync(bytes)
    const batch = JSON.parse(text.toString()) as Batch
    const refusal = take(batch)
    if (refusal === null) batches.push({ batch, bytes: bytes.length, coding })
    if (fault !== null) commit(fault, request, response)
    else if (refusal === null) answer(response, 200, { position: held.position })
    else answer(response, 409, { ...standing(), ...refusal })
  }

  function commit(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
    switch (fault.do) {
      case 'cut':
      case 'cut after':
        request.socket.destroy()
        return
      case 'answer':
      case 'answer after':
        answer(response, fault.status, fault.body)
        return
      case 'endless': {
        response.writeHead(200, { 'content-type': 'application/json' })
        const more = (): void => {
          while (!response.destroyed && response.write(' '.repeat(65_536)));
        }
        response.on('drain', more)
        more()
        return
      }
      case 'half':
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"position":', () => request.socket.destroy())
        return
      case 'silent':
    }
  }

  /** Null: taken. */
  function take(batch: Batch): Partial<Standing> | null {
    if (batch.protocol !== 1 || batch.version === '' || !Number.isSafeInteger(batch.backlog))
      violations.push('its head')
    if (batch.snapshot) return takePart(batch, batch.snapshot)
    if (held.position === null || JSON.stringify(batch.after) !== JSON.stringify(held.position)) return {}
    const targets = new Map(held.targets)
    const lost = { deployments: new Set(held.lost.deployments), targets: new Set(held.lost.targets) }
    for (const target of batch.targets ?? []) {
      put(targets, target)
      lost.targets.delete(target.key)
    }
    const unknown = { deployments: new Set<number>(), targets: new Set<number>() }
    const deployments = new Map(held.deployments)
    let newest = batch.after?.revision ?? 0
    for (const fact of batch.facts ?? []) {
      if (fact.revision <= newest) violations.push(`revision ${fact.revision} after ${newest}`)
      newest = fact.revision + fact.changes.length - 1
      if (isNameless(fact, lost, unknown)) continue
      apply(fact, newest, deployments, targets, unknown)
    }
    if (newest > batch.upTo.revision) violations.push(`revision ${newest} beyond the end`)
    for (const { key, parent } of targets.values())
      if (parent !== undefined && !targets.has(parent)) violations.push(`target ${key} without its parent`)
    if (unknown.deployments.size + unknown.targets.size > 0)
      return { unknown: { deployments: [...unknown.deployments], targets: [...unknown.targets] } }
    held = { ...held, deployments, targets, lost, position: batch.upTo, facts: [...held.facts, ...(batch.facts ?? [])] }
    return null
  }

  function takePart(batch: Batch, part: NonNullable<Batch['snapshot']>): Partial<Standing> | null {
    const isNext = held.snapshot?.after === part.after && held.snapshot.upTo.revision === batch.upTo.revision
    if (part.after !== 0 && !isNext) return {}
    if (batch.after !== null) violations.push('a part of a snapshot after a position')
    if (part.after === 0) held.coming = { deployments: new Map(), targets: new Map() }
    const { deployments, targets } = held.coming
    for (const target of batch.targets ?? []) put(targets, target)
    for (const { key, named, target, rollout, image } of part.states) {
      if (!targets.has(target)) violations.push(`the state of ${key} before its target ${target}`)
      const whole = { ...image, targetKey: target, rolloutKey: 0, instanceKey: null }
      deployments.set(key, { ...named, target, rollout, image: whole })
    }
    held.snapshot = { upTo: batch.upTo, after: part.to }
    if (!part.isLast) return null
    for (const { key, parent } of targets.values())
      if (parent !== undefined && !targets.has(parent)) violations.push(`target ${key} without its parent`)
    held = { ...empty(), deployments, targets, position: batch.upTo, snapshots: held.snapshots + 1 }
    return null
  }

  const server = createServer((request, response) => {
    handle(request, response)
      .catch((error: Error) => violations.push(error.message))
      .finally(() => {
        for (const look of waiting) look()
      })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held: () => held,
    batches,
    violations,
    requests: () => requests,
    fault(next) {
      faultOf = next
    },
    copy: () => structuredClone(held),
    restore(copy) {
      held = structuredClone(copy)
    },
    loseNames() {
      const keysOf = (map: ReadonlyMap<number, unknown>): Set<number> => new Set(map.keys())
      held = { ...held, lost: { deployments: keysOf(held.deployments), targets: keysOf(held.targets) } }
    },
    until: (condition) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!condition()) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts)
}

function put(targets: Map<number, HeldTarget>, target: SiteTarget): void {
  const { present, ...sent } = target
  const connectivity = present?.connectivity ?? targets.get(target.key)?.connectivity ?? 'UNKNOWN'
  targets.set(target.key, { ...sent, connectivity })
}

function isNameless({ deployment, named, target }: SiteFact, lost: Held['lost'], unknown: Held['lost']): boolean {
  const isLost = deployment !== undefined && !named && lost.deployments.has(deployment)
  if (isLost) unknown.deployments.add(deployment)
  if (deployment !== undefined && named) lost.deployments.delete(deployment)
  if (target === undefined || !lost.targets.has(target)) return isLost
  unknown.targets.add(target)
  return true
}

function apply(
  fact: SiteFact,
  last: number,
  deployments: Map<number, HeldDeployment>,
  targets: Map<number, HeldTarget>,
  unknown: Held['lost'],
): void {
  const { deployment: key, target, rollout, named, changes } = fact
  if (target !== undefined && !targets.has(target)) unknown.targets.add(target)
  if (key === undefined) {
    for (const change of changes) {
      const known = targets.get(target ?? 0)
      if (change.kind === 'CONNECTIVITY_CHANGED' && known) targets.set(known.key, { ...known, connectivity: change.to })
    }
    return
  }
  const known = deployments.get(key)
  if (!known && (!named || target === undefined || rollout === undefined)) {
    unknown.deployments.add(key)
    return
  }
  // It is in the state already.
  if (known && known.image.revision >= last) return
  const place = target ?? known?.target ?? 0
  const entry = {
    ...{ firstRevision: fact.revision, at: fact.at, observedAt: fact.observedAt ?? null, targetKey: place },
    ...{ rolloutKey: 0, instanceKey: null, changes },
  }
  const image = imageAt(known?.image ?? null, entry, last)
  const name = { deploymentId: '', reporter: '', ...known, ...named }
  if (image)
    deployments.set(key, { ...name, target: place, rollout: rollout ?? (known?.rollout as RolloutName), image })
}
