/**
 * The file of a deployment. An id is any text; a name has to be one on every system that clones: one without a distinction of case
 * (Windows, macOS), with names of its own (`CON`), without what begins with a dot (`.git`). Most ids are such a name already. Any other
 * is told by its hash, behind what can be read of it; "~" is in no plain name, so the two cannot meet.
 */
import { createHash } from 'node:crypto'

const plain = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?$/
const longestSlug = 60

export function fileOf(deploymentId: string): string {
  return `deployments/${plain.test(deploymentId) ? deploymentId : hashed(deploymentId)}.yaml`
}

function hashed(deploymentId: string): string {
  const slug = deploymentId.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, longestSlug)
  return `${slug}~${createHash('sha256').update(deploymentId).digest('hex').slice(0, 32)}`
}
